#include <cstdint>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/pretend_gpu/pretend_cuda.h>
#include <support/replicas.h>

#include <lockstep/runtime/memory/borrowed_memory.h>

// Tensors in GPU memory of another library, which kernels of other GPUs cannot read.

namespace lockstep {
namespace {

using testing::Each;
using testing::ElementsAre;

/// A tensor of the same memory, as if another library had allocated it.
Tensor borrowed(const Tensor& own) {
  return Tensor::from_blob(own.raw_data(), own.shape(), own.shape().dense_strides(), own.dtype(), own.device(),
                           std::make_shared<Tensor>(own));
}

TEST(BorrowedMemory, IsThatOfTensorsOfExistingGpuMemory) {
  const LogicalDevice gpu = logical_gpus(1).front();
  const Tensor own = Tensor::empty({8}, DType::f32, gpu);
  EXPECT_FALSE(is_borrowed(own.raw_data()));
  {
    const Tensor other = borrowed(own);
    EXPECT_TRUE(is_borrowed(other.slice_view(0, 7, 8).raw_data()));
    EXPECT_FALSE(is_borrowed(other.data<float>() + 8));
  }
  EXPECT_FALSE(is_borrowed(own.raw_data()));
}

/// The number of kernels that `job` launches on both replicas.
template <class Job>
std::int64_t kernels_of(const Strategy& strategy, const Job& job) {
  test::pretend_cuda()->take_submissions();
  strategy.run(job);
  std::int64_t kernels = 0;
  for (const auto& [name, count] : test::pretend_cuda()->take_submissions().kernels) kernels += count;
  return kernels;
}

TEST(BorrowedMemory, IsCopiedBeforeOtherReplicasReadIt) {
  const MirroredStrategy strategy(logical_gpus(2), {.cross_device_ops = CrossDeviceOps::shared_memory});
  const auto values = strategy.run([] { return Tensor::full({4}, test::this_replica() + 1); });
  const auto sum = [](const PerReplica<Tensor>& given) {
    return [&given] {
      const Tensor own = given[test::this_replica()];
      EXPECT_THAT(get_replica_context().all_reduce(ReduceOp::sum, own).to_vector<float>(), Each(3));
    };
  };
  const auto gather = [](const PerReplica<Tensor>& given) {
    return [&given] {
      const Tensor own = given[test::this_replica()];
      EXPECT_THAT(get_replica_context().all_gather(own, 0).to_vector<float>(), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2));
    };
  };
  const std::int64_t of_sum = kernels_of(strategy, sum(values));
  const std::int64_t of_gather = kernels_of(strategy, gather(values));
  const auto of_others = values.transform([](const Tensor& own) { return borrowed(own); });
  EXPECT_EQ(kernels_of(strategy, sum(of_others)), of_sum + 2) << "a copy on each replica";
  EXPECT_EQ(kernels_of(strategy, gather(of_others)), of_gather + 2);
}

}  // namespace
}  // namespace lockstep
