#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <support/pretend_gpu/computing.h>

#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/memory/uploads.h>

namespace lockstep {
namespace {

const LogicalDevice gpu{DeviceKind::gpu, 0};

class UploadsToAGpu : public testing::Test {
 protected:
  // Progress of the input stream.
  static test::StreamProgress progress() { return test::progress_of({gpu, StreamKind::input}); }
  /// Number of requests for pinned memory since the test began.
  std::int64_t pinned_allocations() const { return asked_for_pinned() - asked_before_; }

  GpuPlatform& platform_ = gpu_platform();
  const test::DeferredWork deferred_;
  Uploads uploads_{gpu};

  /// GPU memory for `count` integers.
  int* room(std::size_t count) {
    rooms_.push_back(allocator_->allocate(count * sizeof(int)));
    platform_.clear(gpu, rooms_.back()->data(), count * sizeof(int));
    return static_cast<int*>(rooms_.back()->data());
  }
  std::shared_ptr<const Event> begin(int* to, const std::vector<int>& values) {
    const Upload upload{to, values.data(), values.size() * sizeof(int)};
    return uploads_.begin(std::span(&upload, 1));
  }
  std::vector<int> on_gpu(const int* from, std::size_t count) {
    std::vector<int> values(count);
    platform_.copy(values.data(), {}, from, gpu, count * sizeof(int));
    return values;
  }

 private:
  static std::int64_t asked_for_pinned() { return test::pretend_cuda()->calls("cudaHostAlloc"); }

  const std::int64_t asked_before_ = asked_for_pinned();
  const std::shared_ptr<CachingAllocator> allocator_ = std::make_shared<CachingAllocator>(gpu, platform_.memory(gpu));
  std::vector<std::shared_ptr<Buffer>> rooms_{};
};

TEST_F(UploadsToAGpu, AreDoneBesideWhatItComputesUntilThatWaits) {
  int* const to = room(3);
  std::vector<int> values{1, 2, 3};
  const auto done = begin(to, values);
  values = {7, 8, 9};  // the source may change immediately
  EXPECT_EQ(on_gpu(to, 3), (std::vector<int>{0, 0, 0}));
  Stream{gpu}.wait(*done);
  EXPECT_EQ(on_gpu(to, 3), (std::vector<int>{1, 2, 3}));
}

TEST_F(UploadsToAGpu, CopiesOfPinnedMemoryHaveReadItWhenTheyReturn) {
  int* const to = room(1);
  MemoryResource& pinned = platform_.pinned_memory();
  auto* const from = static_cast<int*>(pinned.allocate(sizeof(int)));
  *from = 3;
  platform_.copy(to, gpu, from, {}, sizeof(int));
  *from = 7;
  EXPECT_EQ(on_gpu(to, 1), std::vector<int>{3});
  pinned.release(from, sizeof(int));
}

// The pretended CUDA ends the program if a call would create a context on a GPU that its thread has not chosen.
TEST_F(UploadsToAGpu, MayBeAThreadsFirstUseOfAGpu) {
  int* const to = room(1000);
  std::jthread([&] { begin(to, {3}); }).join();
  std::jthread([&] { begin(to, std::vector<int>(1000, 4)); }).join();
  std::jthread([&] { begin(to, std::vector<int>(1000, 5)); }).join();
  Stream{gpu}.wait(*begin(to, {6}));
  EXPECT_EQ(on_gpu(to, 2), (std::vector<int>{6, 5}));
}

TEST_F(UploadsToAGpu, ComeAfterWhatItHasBeenGivenToCompute) {
  int* const to = room(1);
  const std::size_t before = progress().waits;
  for (std::size_t calls = 1; calls <= 3; ++calls) {
    begin(to, {1});
    EXPECT_EQ(progress().waits, before + calls);
  }
}

TEST_F(UploadsToAGpu, OfOneCallLieSideBySideInPinnedMemory) {
  std::vector<int> first(1000);
  std::iota(first.begin(), first.end(), 0);
  const std::vector<char> second{'a', 'b', 'c'};
  int* const to_first = room(first.size());
  int* const to_second = room(1);
  const Upload both[] = {{to_first, first.data(), first.size() * sizeof(int)}, {to_second, second.data(), 3}};
  uploads_.begin(both)->synchronize();
  EXPECT_EQ(on_gpu(to_first, first.size()), first);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(on_gpu(to_second, 1).data()), 3), "abc");
  EXPECT_EQ(pinned_allocations(), 1);
}

TEST_F(UploadsToAGpu, UseTwoBuffersAndWaitForTheOneTheyFill) {
  std::vector<int*> places;
  for (int call = 0; call < 6; ++call) {
    places.push_back(room(500));
    const std::size_t done_before = progress().done;
    begin(places.back(), std::vector<int>(500, call));
    constexpr std::size_t pieces = 2;  // pieces of work of a call: waiting for the compute stream, and the copy
    EXPECT_EQ(progress().done - done_before, call < 2 ? 0U : pieces) << "the last call but one was waited for";
  }
  platform_.synchronize(gpu);
  for (int call = 0; call < 6; ++call)
    EXPECT_EQ(on_gpu(places[static_cast<std::size_t>(call)], 500), std::vector<int>(500, call));
  EXPECT_EQ(pinned_allocations(), 2);
}

TEST_F(UploadsToAGpu, TakeLargerBuffersWhenNeededOnly) {
  int* const to = room(4050);
  for (const std::size_t size : {1000U, 1000U, 4000U, 4000U, 10U, 10U, 4050U, 4050U})
    begin(to, std::vector<int>(size, static_cast<int>(size)));
  EXPECT_EQ(pinned_allocations(), 4);
  platform_.synchronize(gpu);
  EXPECT_EQ(on_gpu(to, 4050), std::vector<int>(4050, 4050));
}

TEST_F(UploadsToAGpu, EventsAreUsedAgainOnceNobodyHasThem) {
  int* const to = room(1);
  const Event* const kept = begin(to, {1}).get();
  const auto held = begin(to, {2});
  EXPECT_NE(held.get(), kept) << "the buffer still needs it";
  std::vector<const Event*> later;
  for (int call = 0; call < 4; ++call) later.push_back(begin(to, {3}).get());
  EXPECT_NE(std::find(later.begin(), later.end(), kept), later.end());
  EXPECT_EQ(std::find(later.begin(), later.end(), held.get()), later.end());
}

}  // namespace
}  // namespace lockstep
