#include <chrono>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/runtime/trace/trace.h>

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> names_of(const TraceRecording& recording) {
  std::vector<std::string> names;
  for (const TraceEvent& event : recording.events()) names.push_back(event.name);
  return names;
}

TEST(Trace, HasWhatBeganAndEndedWhileItWasRecorded) {
  { const TraceSpan span("before"); }
  auto begun_before = std::make_unique<TraceSpan>("begun before");
  const TraceRecording recording;
  begun_before.reset();
  { const TraceSpan span("gradient of ", "conv2d"); }
  const TraceSpan not_ended("not ended");
  EXPECT_THAT(names_of(recording), ElementsAre("gradient of conv2d"));
}

TEST(Trace, TellsWhenAndHowLong) {
  const TraceRecording recording;
  {
    const TraceSpan outer("outer");
    const TraceSpan inner("inner");
    std::this_thread::sleep_for(2ms);
  }
  const std::vector<TraceEvent> events = recording.events();
  ASSERT_THAT(names_of(recording), ElementsAre("inner", "outer"));
  EXPECT_GE(events[0].duration_us, 2000);
  EXPECT_GE(events[1].duration_us, events[0].duration_us);
  EXPECT_GE(events[1].start_us, 0);
  EXPECT_LE(events[1].start_us, events[0].start_us);
}

TEST(Trace, TellsTheReplica) {
  const TraceRecording recording;
  std::jthread([] {
    ExecutionContext context;
    context.replica = 3;
    const ContextScope scope(context);
    const TraceSpan span("in a replica");
  }).join();
  { const TraceSpan span("outside"); }
  const std::vector<TraceEvent> events = recording.events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].replica, 3);
  EXPECT_EQ(events[1].replica, -1);
}

TEST(Trace, HasThePhasesOfAStep) {
  const TraceRecording recording;
  { const PhaseTimer timer(Phase::reduce); }
  { const PhaseTimer timer(Phase::input); }
  EXPECT_THAT(names_of(recording), ElementsAre("reduce", "input"));
}

TEST(Trace, KeepsTheFirstOnesWhenItIsFull) {
  const TraceRecording recording(2);
  for (const char* name : {"a", "b", "c"}) const TraceSpan span(name);
  EXPECT_THAT(names_of(recording), ElementsAre("a", "b"));
}

TEST(Trace, BeginsAnewEachTime) {
  {
    const TraceRecording recording;
    const TraceSpan span("of the first");
  }
  const TraceRecording recording;
  EXPECT_THAT(recording.events(), IsEmpty());
}

TEST(Trace, IsOneAtATime) {
  const TraceRecording recording;
  EXPECT_THAT(error_of<LogicError>([] { const TraceRecording second; }), HasSubstr("already being recorded"));
}

}  // namespace
}  // namespace lockstep::test
