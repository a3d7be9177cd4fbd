// Gradients exchanged during backward when its parts are CUDA graphs, between separate GPUs, which are pretended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/pretend_gpu/pretend_cuda.h>
#include <support/small_problem.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep::test {
namespace {

/// Sizes of the gradient ranges that eight steps exchange, in order.
std::vector<std::size_t> exchanged(bool cuda_graphs) {
  const MirroredStrategy strategy(logical_gpus(3));
  Model model = small_model(strategy);
  pretend_cuda()->take_collectives();
  model.fit(SmallProblem(240).dataset().batch(30), {.cuda_graphs = cuda_graphs});
  return take_collective_elements();
}

TEST(CudaGraphsExchange, BeginsBesideBackwardAsWithoutThem) {
  const std::vector<std::size_t> expected = exchanged(false);
  EXPECT_THAT(expected, testing::SizeIs(testing::Ge(8U)));
  EXPECT_EQ(exchanged(true), expected);
}

}  // namespace
}  // namespace lockstep::test
