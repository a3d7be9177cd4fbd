#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/trace/gpu_timeline.h>

namespace lockstep {
namespace {

GpuWork kernel(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t gpu = 0, std::uint32_t stream = 7) {
  return {.name = "k", .is_kernel = true, .gpu = gpu, .stream = stream, .start_ns = start_ns, .end_ns = end_ns};
}

nlohmann::json events_of(const GpuTimeline& timeline, std::uint64_t origin_ns) {
  ChromeTrace trace;
  timeline.add_to(trace, origin_ns);
  return nlohmann::json::parse(trace.text())["traceEvents"];
}

TEST(GpuTimeline, KernelsThatOverlapAreBusyOnce) {
  GpuTimeline timeline(10);
  for (const GpuWork& work : {kernel(5'000'000, 6'000'000), kernel(1'000'000, 2'000'000),
                              kernel(1'500'000, 3'000'000, 0, 8), kernel(1'600'000, 1'700'000, 0, 9)})
    timeline.add(work);
  EXPECT_EQ(timeline.summary(), "GPU 0: 4 kernels, busy 3.000 ms, gaps 2.000 ms, span 5.000 ms");
  EXPECT_EQ(timeline.first_ns(), 1'000'000U);
}

TEST(GpuTimeline, EachGpuHasItsOwnGaps) {
  GpuTimeline timeline(10);
  timeline.add(kernel(0, 1'000'000, 1));
  timeline.add(kernel(500'000, 2'000'000));
  timeline.add(kernel(3'000'000, 4'000'000, 1));
  EXPECT_EQ(timeline.summary(),
            "GPU 0: 1 kernels, busy 1.500 ms, gaps 0.000 ms, span 1.500 ms; "
            "GPU 1: 2 kernels, busy 2.000 ms, gaps 2.000 ms, span 4.000 ms");
}

TEST(GpuTimeline, CopiesAreShownAndFillNoGap) {
  GpuTimeline timeline(10);
  EXPECT_EQ(timeline.summary(), "no kernels");
  EXPECT_EQ(timeline.first_ns(), 0U);
  timeline.add(kernel(1000, 2000));
  timeline.add({.name = "copy from the host", .stream = 3, .start_ns = 2000, .end_ns = 3000, .bytes = 64});
  timeline.add(kernel(3000, 4000));
  EXPECT_EQ(timeline.summary(), "GPU 0: 2 kernels, busy 0.002 ms, gaps 0.001 ms, span 0.003 ms");
  const nlohmann::json copy = events_of(timeline, 0)[1];
  EXPECT_EQ(copy["name"], "copy from the host");
  EXPECT_EQ(copy["args"]["bytes"], 64);
}

TEST(GpuTimeline, TimesCountFromTheOrigin) {
  GpuTimeline timeline(10);
  timeline.add(kernel(5000, 5500));
  timeline.add(kernel(1000, 1250));
  const nlohmann::json events = events_of(timeline, 3000);
  EXPECT_EQ(events[0]["ts"], 2);
  EXPECT_EQ(events[0]["dur"], 0.5);
  EXPECT_EQ(events[1]["ts"], -2) << "before the origin";
}

TEST(GpuTimeline, RowsAreStreamsOfAGpu) {
  GpuTimeline timeline(10);
  timeline.add(kernel(0, 1, 0, 7));
  timeline.add(kernel(0, 1, 1, 7));
  timeline.add(kernel(0, 1, 1, 9));
  std::vector<std::string> names;
  for (const nlohmann::json& event : events_of(timeline, 0))
    if (event["ph"] == "M") names.push_back(event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"GPU 0", "stream 7", "GPU 1", "stream 7", "stream 9"}));
}

TEST(GpuTimeline, NamesAreDemangled) {
  GpuTimeline timeline(10);
  GpuWork work = kernel(0, 1);
  for (const char* const name : {"_Z4spinPfi", "i", "_Zwrong", "triton_poi_fused_0"}) {
    work.name = name;
    timeline.add(work);
  }
  std::vector<std::string> names;
  for (const nlohmann::json& event : events_of(timeline, 0))
    if (event["ph"] == "X") names.push_back(event["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"spin(float*, int)", "i", "_Zwrong", "triton_poi_fused_0"}));
}

TEST(GpuTimeline, WhatIsBeyondItsCapacityIsCounted) {
  GpuTimeline timeline(2);
  for (std::uint64_t i = 0; i < 5; ++i) timeline.add(kernel(i, i + 1));
  timeline.leave_out(10);
  EXPECT_EQ(timeline.size(), 2U);
  EXPECT_EQ(timeline.left_out(), 13U);
}

// CUPTI may leave a record incomplete.
TEST(GpuTimeline, WhatHasNoEndTakesNoTime) {
  GpuTimeline timeline(2);
  timeline.add(kernel(5000, 0));
  EXPECT_EQ(events_of(timeline, 0)[0]["dur"], 0);
}

}  // namespace
}  // namespace lockstep
