#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/gpu_capture.h>
#include <lockstep/runtime/device/not_capturable.h>
#include <lockstep/runtime/memory/copy.h>
#include <lockstep/runtime/memory/uploads.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const LogicalDevice first_gpu{DeviceKind::gpu, 0};
const LogicalDevice second_gpu{DeviceKind::gpu, 1};

class Capture : public testing::Test {
 protected:
  ~Capture() override {
    for (int* const room : {a_, b_, c_}) platform_.memory(first_gpu).release(room, sizeof(int));
  }

  GpuPlatform& platform_ = gpu_platform();
  const ContextScope on_gpu_{ExecutionContext{.device = first_gpu}};
  int* const a_ = room();
  int* const b_ = room();
  int* const c_ = room();

  int* room() { return static_cast<int*>(platform_.memory(first_gpu).allocate(sizeof(int))); }
  void write(int* to, int value) { platform_.copy(to, first_gpu, &value, {}, sizeof value); }
  int read(const int* from) {
    int value = 0;
    platform_.copy(&value, {}, from, first_gpu, sizeof value);
    return value;
  }
  void move(const int* from, int* to) { platform_.copy(to, first_gpu, from, first_gpu, sizeof *to); }
};

TEST_F(Capture, IsDoneWheneverItIsLaunchedAndNotBefore) {
  write(a_, 1);
  write(b_, 2);
  CapturedWork work;
  {
    GpuCapture capture(first_gpu);
    move(a_, b_);
    work = capture.take();
  }
  EXPECT_EQ(read(b_), 2);
  for (const int value : {3, 4}) {
    write(a_, value);
    work.launch();
    EXPECT_EQ(read(b_), value);
  }
}

TEST_F(Capture, IsTakenInParts) {
  write(a_, 1);
  GpuCapture capture(first_gpu);
  move(a_, b_);
  const CapturedWork first = capture.take();
  move(b_, c_);
  const CapturedWork second = capture.take();
  std::thread([&] {  // a thread that does not capture
    const ContextScope there(ExecutionContext{.device = first_gpu});
    write(b_, 5);
    second.launch();
    EXPECT_EQ(read(c_), 5);
    first.launch();
    EXPECT_EQ(read(b_), 1);
    EXPECT_EQ(read(c_), 5);
  })
      .join();
}

TEST_F(Capture, DoesWhatTheHostDecidesEachTimeInItsPlace) {
  int next = 10;
  const auto draw = [&] { write(b_, next++); };
  CapturedWork work;
  {
    GpuCapture capture(first_gpu);
    move(a_, b_);
    GpuCapture::each_time(draw);
    move(b_, c_);
    work = capture.take();
  }
  EXPECT_EQ(next, 10);
  for (const int drawn : {10, 11}) {
    write(a_, 1);
    work.launch();
    EXPECT_EQ(read(c_), drawn);
  }
  GpuCapture::each_time(draw);
  EXPECT_EQ(read(b_), 12);
}

TEST_F(Capture, RefusesWhatAGraphCannotDo) {
  Event event(first_gpu);
  event.record({first_gpu});
  auto* const pinned = static_cast<int*>(platform_.pinned_memory().allocate(sizeof(int)));
  {
    GpuCapture capture(first_gpu);
    const auto refuses = [](const auto& call, const char* what) {
      EXPECT_THAT(call, ThrowsMessage<NotCapturable>(HasSubstr(what)));
    };
    refuses([&] { read(a_); }, "a value read by the host cannot be captured");
    refuses([&] { write(a_, 1); }, "a copy from the host");
    refuses([&] { platform_.copy(a_, second_gpu, b_, first_gpu, sizeof(int)); }, "an event");
    refuses([&] { platform_.clear(second_gpu, a_, sizeof(int)); }, "work of another GPU");
    refuses([&] { platform_.copy_from_pinned(a_, first_gpu, pinned, sizeof(int)); }, "work outside the compute stream");
    refuses([&] { platform_.synchronize(first_gpu); }, "a wait for a GPU");
    refuses([&] { platform_.memory(first_gpu).allocate(1); }, "memory");
    refuses([&] { event.record({first_gpu}); }, "an event");
    refuses([&] { event.synchronize(); }, "an event");
    refuses([&] { Stream{first_gpu, StreamKind::input}.wait(event); }, "an event");
    EXPECT_THROW(GpuCapture again(first_gpu), LogicError);
    std::thread([&] { EXPECT_NO_THROW(platform_.synchronize(first_gpu)); }).join();
  }
  EXPECT_NO_THROW(platform_.synchronize(first_gpu));
  platform_.pinned_memory().release(pinned, sizeof(int));
}

}  // namespace
}  // namespace lockstep
