#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/trace/cupti/activity.h>

namespace lockstep {
namespace {

/// A record with the fields that all kinds have.
template <class Record>
Record record_of(CUpti_ActivityKind kind) {
  Record record{};
  record.kind = kind;
  record.start = 2000;
  record.end = 5000;
  record.deviceId = 1;
  record.streamId = 13;
  return record;
}

/// The trace event made from the record; null if there is none.
template <class Record>
nlohmann::json event_of(const Record& record) {
  GpuTimeline timeline(1);
  add_activity(reinterpret_cast<const CUpti_Activity&>(record), timeline);
  if (timeline.size() == 0) return nullptr;
  ChromeTrace trace;
  timeline.add_to(trace, 1000);
  return nlohmann::json::parse(trace.text())["traceEvents"][0];
}

void expect_time_and_stream(const nlohmann::json& event) {
  EXPECT_EQ(event["ts"], 1);
  EXPECT_EQ(event["dur"], 3);
  EXPECT_EQ(event["tid"], 13);
}

TEST(CuptiActivity, Kernels) {
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}) {
    auto kernel = record_of<CUpti_ActivityKernel10>(kind);
    kernel.name = "_Z4spinPfi";
    const nlohmann::json event = event_of(kernel);
    EXPECT_EQ(event["name"], "spin(float*, int)");
    EXPECT_FALSE(event.contains("args"));
    expect_time_and_stream(event);
    GpuTimeline timeline(1);
    add_activity(reinterpret_cast<const CUpti_Activity&>(kernel), timeline);
    EXPECT_EQ(timeline.summary(), "GPU 1: 1 kernels, busy 0.003 ms, gaps 0.000 ms, span 0.003 ms");
    kernel.name = nullptr;
    EXPECT_EQ(event_of(kernel)["name"], "kernel without a name");
  }
}

TEST(CuptiActivity, Copies) {
  auto copy = record_of<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  copy.bytes = 4096;
  for (const auto& [kind, name] : {std::pair{CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, "copy from the host"},
                                   {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, "copy to the host"},
                                   {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, "copy on the device"},
                                   {CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, "copy between GPUs"}}) {
    copy.copyKind = static_cast<std::uint8_t>(kind);
    const nlohmann::json event = event_of(copy);
    EXPECT_EQ(event["name"], name);
    EXPECT_EQ(event["args"]["bytes"], 4096);
    expect_time_and_stream(event);
  }
}

TEST(CuptiActivity, CopiesBetweenGpus) {
  auto copy = record_of<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  copy.bytes = 32;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  const nlohmann::json event = event_of(copy);
  EXPECT_EQ(event["name"], "copy between GPUs");
  EXPECT_EQ(event["args"]["bytes"], 32);
  expect_time_and_stream(event);
}

TEST(CuptiActivity, Memsets) {
  auto set = record_of<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  set.bytes = 16;
  const nlohmann::json event = event_of(set);
  EXPECT_EQ(event["name"], "memset");
  EXPECT_EQ(event["args"]["bytes"], 16);
  expect_time_and_stream(event);
}

TEST(CuptiActivity, OtherRecordsAreIgnored) {
  EXPECT_EQ(event_of(record_of<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_OVERHEAD)), nullptr);
}

}  // namespace
}  // namespace lockstep
