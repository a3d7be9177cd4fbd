#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tools/cli/trace_file.h>

namespace lockstep::cli {
namespace {

using nlohmann::json;

class RunTraceTest : public testing::Test {
 protected:
  RunTraceTest() { std::filesystem::remove(path_); }
  ~RunTraceTest() override { std::filesystem::remove(path_); }
  /// The events with a duration.
  std::vector<json> spans() const {
    std::ifstream file(path_);
    std::vector<json> spans;
    const json trace = json::parse(file);
    for (const json& event : trace["traceEvents"])
      if (event["ph"] == "X") spans.push_back(event);
    return spans;
  }
  const std::string path_ = testing::TempDir() + "lockstep_trace_file_test.json";
};

// The pretended CUPTI reports a first kernel that starts with the recording.
TEST_F(RunTraceTest, KernelsAreBesideTheHostsSpans) {
  {
    RunTrace trace(true);
    { const TraceSpan span("compute"); }
    trace.write(path_, false);
  }
  const std::vector<json> all = spans();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0]["name"], "compute");
  EXPECT_EQ(all[1]["name"], "spin(float*, int)");
  EXPECT_NE(all[0]["pid"], all[1]["pid"]);
  EXPECT_EQ(all[3]["args"]["bytes"], 4096);
  EXPECT_GE(all[1]["ts"], 0) << "the host's clock begins first";
  EXPECT_LE(all[1]["ts"], all[0]["ts"]) << "the span begins after the kernel, on one clock";
}

TEST_F(RunTraceTest, WithoutGpusItHasTheHostAlone) {
  RunTrace trace(false);
  { const TraceSpan span("compute"); }
  trace.write(path_, false);
  ASSERT_EQ(spans().size(), 1U);
}

TEST_F(RunTraceTest, AResumedRunIsBesideTheOneBefore) {
  for (const bool resumed : {false, true}) {
    RunTrace trace(true);
    { const TraceSpan span("compute"); }
    trace.write(path_, resumed);
  }
  std::vector<int> processes;
  for (const json& span : spans()) processes.push_back(span["pid"]);
  EXPECT_EQ(processes, (std::vector{0, 1, 1, 1, 1, 2, 3, 3, 3, 3}));
}

}  // namespace
}  // namespace lockstep::cli
