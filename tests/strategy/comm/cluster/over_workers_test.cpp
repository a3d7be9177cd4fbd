#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/devices.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/strategy/comm/cluster/over_replicas.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>

// Two workers that mpirun started. The calling thread's device is a GPU if the devices of the tests are GPUs.

namespace lockstep {
namespace {

using testing::ElementsAre;

class OverWorkers : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(cluster_, nullptr) << "start this program with mpirun"; }

  /// {1, 2} on the chief and {2, 4} on the other worker.
  Tensor own() const { return Tensor::from(std::vector<float>{1, 2}, {2}) * (1.0 + cluster_->rank()); }

  std::shared_ptr<Cluster> cluster_ = join_cluster({.timeout = std::chrono::seconds(60)});
  DeviceScope there_{test::devices(1).front()};
};

TEST_F(OverWorkers, AllReduceReturnsHostMemory) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    const Tensor sum = all_reduce_over(*cluster_, "here", ReduceOp::sum, cast(own(), dtype), 2);
    EXPECT_EQ(sum.device(), LogicalDevice{}) << name(dtype);
    EXPECT_THAT(sum.to_vector<double>(), ElementsAre(3, 6)) << name(dtype);
  }
}

TEST_F(OverWorkers, AllGatherReturnsHostMemory) {
  const Gathered all = all_gather_over(*cluster_, "here", own(), 0);
  EXPECT_EQ(all.value.device(), LogicalDevice{});
  EXPECT_EQ(all.offset, 2 * cluster_->rank());
  EXPECT_THAT(all.value.to_vector<double>(), ElementsAre(1, 2, 2, 4));
}

TEST_F(OverWorkers, TheChiefsValueIsInHostMemory) {
  const Tensor value = value_of_chief(*cluster_, "here", own());
  EXPECT_EQ(value.device(), LogicalDevice{});
  EXPECT_THAT(value.to_vector<double>(), ElementsAre(1, 2));
}

TEST_F(OverWorkers, TheMeanOfSlicesDividesInHostMemory) {
  const IndexedSlices slices{
      own().view({1, 2}), Tensor::from(std::vector<std::int64_t>{cluster_->rank()}, {1}), {2, 2}};
  const IndexedSlices mean = combine(cluster_.get(), "here", ReduceOp::mean, std::span(&slices, 1));
  EXPECT_THAT(mean.values.to_vector<double>(), ElementsAre(0.5, 1, 1, 2));
  EXPECT_THAT(mean.indices.to_vector<std::int64_t>(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace lockstep
