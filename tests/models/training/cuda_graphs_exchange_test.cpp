// The exchange of gradients beside backward whose parts are CUDA graphs, between GPUs of their own, which are
// pretended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/pretend_gpu/communicators.h>
#include <support/small_problem.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep::test {
namespace {

/// What eight steps enqueue for all GPUs beside backward: elements, in their order, of each call.
std::vector<std::size_t> exchanged(bool cuda_graphs) {
  const MirroredStrategy strategy(logical_gpus(3));
  Model model = small_model(strategy);
  PretendGpuCommunicators::take_enqueued_for_all();
  model.fit(SmallProblem(240).dataset().batch(30), {.cuda_graphs = cuda_graphs});
  return PretendGpuCommunicators::take_enqueued_for_all();
}

TEST(CudaGraphsExchange, BeginsBesideBackwardAsWithoutThem) {
  const std::vector<std::size_t> expected = exchanged(false);
  EXPECT_THAT(expected, testing::SizeIs(testing::Ge(7U))) << "of the first step, NCCL's first, nothing is exchanged so";
  EXPECT_EQ(exchanged(true), expected);
}

}  // namespace
}  // namespace lockstep::test
