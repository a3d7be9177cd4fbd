#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/pretend_gpu/computing.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/input/uploaded_batch.h>

#include "input_testing.h"

// Batches for replicas on GPUs.

namespace lockstep {
namespace {

/// Progress of the input stream. A batch takes a wait for the compute stream, and a copy for each of its tensors.
test::StreamProgress progress_of(const LogicalDevice& gpu) { return test::progress_of({gpu, StreamKind::input}); }

class UploadedBatchOn : public testing::Test {
 protected:
  const LogicalDevice gpu_ = logical_gpus(1).front();
  const test::DeferredWork deferred_;
  const std::size_t given_before_ = settled().given;

  test::StreamProgress settled() const {
    synchronize(gpu_);
    return progress_of(gpu_);
  }
};

TEST_F(UploadedBatchOn, IsThereForWhatIsComputedAfterAwait) {
  const Tensor x = test::random_tensor({6, 5}, 1);
  const Tensor y = Tensor::from(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}, {6});
  const UploadedBatch uploaded({{x}, {y}}, gpu_);
  EXPECT_EQ(progress_of(gpu_).given, given_before_ + 3);
  EXPECT_EQ(progress_of(gpu_).done, given_before_) << "nobody has waited for it";
  for (int time = 0; time < 2; ++time) {
    uploaded.await();
    test::expect_same_bits(uploaded.batch().x(), x);
    test::expect_same_bits(uploaded.batch().y(), y);
    EXPECT_EQ(progress_of(gpu_).done, given_before_ + 3);
    EXPECT_EQ(uploaded.batch().x().device(), gpu_);
  }
  EXPECT_FALSE(uploaded.batch().sample_weight().defined());
}

TEST_F(UploadedBatchOn, PacksRowsThatAreNotAndSkipsThoseThatAreNone) {
  const Tensor x = test::strided_copy(test::random_tensor({4, 3}, 2));
  const UploadedBatch uploaded({{x}, {Tensor::zeros({0, 2})}}, gpu_);
  uploaded.await();
  test::expect_same_bits(uploaded.batch().x(), x);
  EXPECT_EQ(uploaded.batch().y().shape(), (Shape{0, 2}));
}

TEST_F(UploadedBatchOn, TakesWhatTheGpuHasAsItIs) {
  const Tensor there = to_device(test::random_tensor({2}, 3), gpu_);
  const UploadedBatch uploaded({{there}}, gpu_);
  EXPECT_EQ(uploaded.batch().x().raw_data(), there.raw_data());
  EXPECT_EQ(progress_of(gpu_).given, given_before_);
}

TEST_F(UploadedBatchOn, GivesUpNoMemoryThatIsStillToBeWritten) {
  std::optional<UploadedBatch> unread(std::in_place, Batch{{Tensor::full({1000}, 1)}}, gpu_);
  const void* const memory = unread->batch().x().raw_data();
  unread.reset();
  const ContextScope there({.device = gpu_});
  const Tensor next = Tensor::full({1000}, 2);
  ASSERT_EQ(next.raw_data(), memory) << "the allocator takes another block";
  synchronize(gpu_);
  EXPECT_EQ(next.to_vector<float>(), std::vector<float>(1000, 2));
}

TEST_F(UploadedBatchOn, ErrorsNameTheGpu) {
  LogicalDevice small = logical_gpus(max_logical_gpus).back();
  small.memory_limit = 4096;
  EXPECT_ERROR(OutOfMemory, "GPU:63 has no room", UploadedBatch({{Tensor::zeros({2000})}}, small));
}

TEST(ResidentRowsOnGpus, NameTheGpuThatHasNoRoom) {
  LogicalDevice small = logical_gpus(max_logical_gpus).back();
  small.memory_limit = 4096;
  const Dataset batches = Dataset::from_tensors(Tensor::zeros({2000})).batch(16);
  EXPECT_ERROR(OutOfMemory, "cache_on_devices: a tensor of f32 (2000): GPU:63 has no room for 8000 bytes",
               (void)MirroredStrategy({small}).distribute(batches, {.cache_on_devices = true}).epoch().next());
}

TEST(ElementsOnGpus, AreRefusedByStagesThatCopyThem) {
  const Tensor there = to_device(test::random_tensor({2}, 3), logical_gpus(1).front());
  const Dataset set = test::range(4).map([there](const Example&) { return Example{{there}}; });
  for (const Dataset& copying : {set.batch(2), set.padded_batch(2), set.window(2)})
    EXPECT_ERROR(InvalidArgument, "must be in host memory, got f32 (2) on GPU:0: copy it with to_device",
                 copying.epoch().next());
}

class BatchesOnGpus : public testing::TestWithParam<int> {
 protected:
  const MirroredStrategy strategy_{logical_gpus(GetParam())};
};

TEST_P(BatchesOnGpus, HaveTheRowsOfThoseOnCpus) {
  const MirroredStrategy cpus(logical_cpus(GetParam()));
  const Dataset batches = test::range(103).batch(10);
  for (const std::int64_t ahead : {0, 1, 2, 3}) {
    const DistributeOptions options{.per_replica_buffer_size = ahead};
    for (const std::uint64_t epoch : {0U, 1U})
      EXPECT_EQ(test::steps_of(strategy_.distribute(batches, options), epoch),
                test::steps_of(cpus.distribute(batches, options), epoch));
  }
}

TEST_P(BatchesOnGpus, OfTheNextStepsAreOnTheirWayWhileOneIsComputed) {
  const test::DeferredWork deferred;
  const DistributedDataset data = strategy_.distribute(test::range(50).batch(10), {.per_replica_buffer_size = 0});
  DistributedIterator pass = data.epoch();
  const DistributedBatch now = *pass.next();
  const DistributedBatch next = *pass.next();
  const auto sums = strategy_.run(
      [&](const Batch& own) {
        const Tensor twice = own.x() * 2.0;
        const auto input = progress_of(strategy_.devices()[static_cast<std::size_t>(test::this_replica())]);
        EXPECT_EQ(input.done + 2, input.given) << "of the batch of this step, but not the next";
        return twice;
      },
      now);
  EXPECT_EQ(sums[0].to_vector<float>().front(), 0);
  EXPECT_EQ(next.local_results().front().x().to_vector<float>().front(), 10);
}

TEST_P(BatchesOnGpus, TakeNoMemoryAfterWarmUp) {
  const DistributedDataset data = strategy_.distribute(test::range(400).batch(20), {.per_replica_buffer_size = 0});
  const auto allocations = [&] {
    auto all = static_cast<std::uint64_t>(test::pretend_cuda()->calls("cudaHostAlloc"));
    for (const LogicalDevice& gpu : strategy_.devices()) all += allocator(gpu).stats().system_allocations;
    return all;
  };
  test::steps_of(data);
  const std::uint64_t after_warm_up = allocations();
  for (const std::uint64_t epoch : {1U, 2U}) test::steps_of(data, epoch);
  EXPECT_EQ(allocations(), after_warm_up);
}

TEST_P(BatchesOnGpus, AreNotCopiedOnceTheirRowsAreThere) {
  constexpr std::int64_t row_bytes = 1000 * sizeof(float);
  const Dataset set = Dataset::from_tensors(test::random_tensor({48, 1000}, 4));
  const auto copied_in_steps = [&](const Dataset& batches) {
    const DistributedDataset data = strategy_.distribute(batches, {.cache_on_devices = true});
    DistributedIterator pass = data.epoch();
    test::pretend_cuda()->take_submissions();
    (void)pass.next()->local_results();
    EXPECT_GE(test::pretend_cuda()->take_submissions().from_host.bytes, 48 * row_bytes * GetParam());
    (void)test::steps_of(pass);
    for (const std::uint64_t epoch : {1U, 2U}) {
      pass.begin_epoch(epoch);
      while (const auto batch = pass.next()) (void)batch->local_results();
    }
    return test::pretend_cuda()->take_submissions().from_host.bytes;
  };
  EXPECT_EQ(copied_in_steps(set.batch(16)), 0);
  constexpr std::int64_t steps = 3 + 3 + 2;
  const std::int64_t numbers = copied_in_steps(set.shuffle().batch(16));
  EXPECT_LE(numbers, steps * 16 * static_cast<std::int64_t>(sizeof(std::int64_t))) << "of rows, if not consecutive";
  EXPECT_GT(numbers, 0);
}

TEST_P(BatchesOnGpus, MayBeLeftAtAnyStep) {
  for (int steps = 0; steps < 4; ++steps) {
    DistributedIterator pass = strategy_.distribute(test::range(100).batch(10)).epoch();
    for (int step = 0; step < steps; ++step) {
      const std::optional<DistributedBatch> batch = pass.next();
      EXPECT_EQ(batch->local_results().front().x().to_vector<float>().front(), 10.0F * static_cast<float>(step));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Replicas, BatchesOnGpus, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace lockstep
