#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/trace/chrome_trace.h>

namespace lockstep {
namespace {

using nlohmann::json;

TEST(ChromeTrace, IsJsonWithRowsAndTimes) {
  ChromeTrace trace;
  trace.name_process(3, "GPU 0");
  trace.name_row(3, 7, "stream 7");
  trace.add("a \"quoted\"\nname", 3, 7, 1.5, 0.25);
  trace.add("copy", 3, 7, 2, 1, 4096);
  const json events = json::parse(trace.text())["traceEvents"];
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0],
            json({{"name", "process_name"}, {"ph", "M"}, {"pid", 3}, {"tid", 0}, {"args", {{"name", "GPU 0"}}}}));
  EXPECT_EQ(events[1]["name"], "thread_name");
  EXPECT_EQ(events[2],
            json({{"name", "a \"quoted\"\nname"}, {"ph", "X"}, {"pid", 3}, {"tid", 7}, {"ts", 1.5}, {"dur", 0.25}}));
  EXPECT_EQ(events[3]["args"]["bytes"], 4096);
}

TEST(ChromeTrace, WithoutEventsIsStillJson) { EXPECT_TRUE(json::parse(ChromeTrace().text())["traceEvents"].empty()); }

// Names come from object files and may not be valid text.
TEST(ChromeTrace, NamesNeedNotBeText) {
  ChromeTrace trace;
  trace.add("\xff", 0, 0, 0, 0);
  EXPECT_EQ(json::parse(trace.text())["traceEvents"][0]["name"], "\ufffd");
}

}  // namespace
}  // namespace lockstep
