#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/pretend_gpu/pretend_cuda.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/gpu_platform.h>

// The library's GPU backend with the pretended CUDA.

namespace lockstep::test {
namespace {

constexpr std::size_t bytes = 4096;

LogicalDevice gpu(int index) { return {DeviceKind::gpu, index}; }

class Cuda : public testing::Test {
 protected:
  ~Cuda() override {
    for (const auto& [device, memory] : rooms_) platform_.memory(device).release(memory, bytes);
  }

  std::byte* room(const LogicalDevice& device) {
    rooms_.emplace_back(device, platform_.memory(device).allocate(bytes));
    return static_cast<std::byte*>(rooms_.back().second);
  }
  /// GPU memory whose bytes will all be `value` once the enqueued work is done.
  std::byte* filled(const LogicalDevice& device, int value) {
    std::byte* const memory = room(device);
    fill(memory, device, value);
    return memory;
  }
  void fill(void* memory, const LogicalDevice& device, int value) {
    const std::vector<std::byte> values(bytes, static_cast<std::byte>(value));
    platform_.copy(memory, device, values.data(), {}, bytes);
  }
  /// Waits for the work; returns the value of all bytes, -1 if they differ.
  int value_of(const void* memory, const LogicalDevice& device) {
    std::vector<std::byte> values(bytes);
    platform_.copy(values.data(), {}, memory, device, bytes);
    for (const std::byte value : values)
      if (value != values[0]) return -1;
    return static_cast<int>(values[0]);
  }

  GpuPlatform& platform_ = gpu_platform();
  PretendCuda& cuda_ = *pretend_cuda();

 private:
  std::vector<std::pair<LogicalDevice, void*>> rooms_;
};

TEST_F(Cuda, GpusAreReported) {
  const GpuReport report = platform_.report();
  ASSERT_EQ(report.devices.size(), 3U);
  EXPECT_EQ(platform_.count(), 3);
  EXPECT_EQ(report.devices[1].compute_capability, "9.0");
  EXPECT_THAT(report.devices[1].peers, testing::ElementsAre(0, 2));
  EXPECT_GT(platform_.free_memory(2), 0U);
}

TEST_F(Cuda, TheHostMayWriteAgainToWhatItCopiesFrom) {
  std::vector<std::byte> values(bytes, std::byte{1});
  std::byte* const memory = room(gpu(1));
  platform_.copy(memory, gpu(1), values.data(), {}, bytes);
  values.assign(bytes, std::byte{2});
  EXPECT_EQ(value_of(memory, gpu(1)), 1);
}

TEST_F(Cuda, CopiesBetweenGpusAreInTheOrderOfBoth) {
  for (const LogicalDevice& to : {gpu(1), gpu(3), gpu(0)})  // GPU:3 is on the physical GPU of GPU:0
    for (int turn = 1; turn < 100; ++turn) {
      std::byte* const from = filled(gpu(0), turn);
      std::byte* const copied = room(to);
      platform_.copy(copied, to, from, gpu(0), bytes);
      fill(from, gpu(0), 0);
      ASSERT_EQ(value_of(copied, to), turn);
      platform_.clear(to, copied, bytes);
      ASSERT_EQ(value_of(copied, to), 0);
    }
}

TEST_F(Cuda, EventsOrderStreams) {
  MemoryResource& pinned = platform_.pinned_memory();
  auto* const staging = static_cast<std::byte*>(pinned.allocate(bytes));
  const Stream compute{gpu(2)};
  const Stream input{gpu(2), StreamKind::input};
  Event computed(gpu(2));
  Event arrived(gpu(2));
  for (int turn = 1; turn < 200; ++turn) {
    std::byte* const memory = filled(gpu(2), 0);
    std::fill_n(staging, bytes, static_cast<std::byte>(turn));
    computed.record(compute);
    input.wait(computed);
    platform_.copy_from_pinned(memory, gpu(2), staging, bytes);
    arrived.record(input);
    compute.wait(arrived);
    ASSERT_EQ(value_of(memory, gpu(2)), turn);
    arrived.synchronize();
  }
  pinned.release(staging, bytes);
}

TEST_F(Cuda, WhatIsFreedIsThereForWorkBeforeThat) {
  for (int turn = 1; turn < 100; ++turn) {
    void* const from = platform_.memory(gpu(0)).allocate(bytes);
    fill(from, gpu(0), turn);
    std::byte* const to = room(gpu(0));
    platform_.copy(to, gpu(0), from, gpu(0), bytes);
    platform_.memory(gpu(0)).release(from, bytes);
    ASSERT_EQ(value_of(to, gpu(0)), turn);
  }
}

// The pretended CUDA ends the program if a call would create a context on a GPU that its thread has not chosen.
TEST_F(Cuda, ThreadsThatHaveNotUsedAGpuDestroyItsObjects) {
  std::byte* const memory = filled(gpu(1), 1);
  std::unique_ptr<GpuEvent> event = platform_.make_event(gpu(1));
  event->record({gpu(1)});
  platform_.begin_capture(gpu(1));
  platform_.clear(gpu(1), memory, bytes);
  std::unique_ptr<GpuGraph> graph = platform_.end_capture(gpu(1));
  graph->launch();
  std::jthread([&] { event->synchronize(); }).join();
  std::jthread([&] { event.reset(); }).join();
  std::jthread([&] { graph.reset(); }).join();
  EXPECT_EQ(value_of(memory, gpu(1)), 0);
}

TEST_F(Cuda, WaitsForAllStreams) {
  platform_.synchronize(gpu(0));
  const std::int64_t before = cuda_.calls("cudaStreamSynchronize");
  platform_.synchronize(gpu(0));
  EXPECT_EQ(cuda_.calls("cudaStreamSynchronize") - before, 3);
}

TEST_F(Cuda, ACallThatFailsIsNamed) {
  const ContextScope there(context_on(gpu(1)));
  std::byte* const memory = filled(gpu(1), 1);
  Event event(gpu(1));
  const auto expect_named = [&](const char* function, const auto& ask) {
    cuda_.fail(function, 1, cudaErrorLaunchFailure);
    EXPECT_ERROR(DeviceError, fmt::format("{} failed on GPU:1: ", function), ask());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "a kernel's launch would take it for its own";
    EXPECT_NO_THROW(ask()) << "the error is of that call alone";
  };
  expect_named("cudaMemcpyAsync", [&] { value_of(memory, gpu(1)); });
  expect_named("cudaStreamSynchronize", [&] { platform_.synchronize(gpu(1)); });
  expect_named("cudaMemsetAsync", [&] { platform_.clear(gpu(1), memory, bytes); });
  expect_named("cudaEventRecord", [&] { event.record({gpu(1)}); });
  expect_named("cudaStreamWaitEvent", [&] { Stream{gpu(1), StreamKind::input}.wait(event); });
  expect_named("cudaMallocAsync", [&] { room(gpu(1)); });
}

TEST_F(Cuda, MemoryThatHasRunOutIsTriedForOnceMore) {
  const ContextScope there(context_on(gpu(0)));
  room(gpu(0));
  const std::int64_t before = cuda_.calls("cudaMemPoolTrimTo");
  cuda_.fail("cudaMallocAsync", 1, cudaErrorMemoryAllocation);
  EXPECT_NE(room(gpu(0)), nullptr);
  EXPECT_EQ(cuda_.calls("cudaMemPoolTrimTo") - before, 1);
  EXPECT_ERROR(OutOfMemory, "GPU:0 has no 99000000000 bytes left: ", platform_.memory(gpu(0)).allocate(99000000000));
}

}  // namespace
}  // namespace lockstep::test
