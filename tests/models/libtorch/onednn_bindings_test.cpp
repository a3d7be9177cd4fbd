#include <vector>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/models/libtorch/tensor.h>

namespace lockstep::test {
namespace {

// The product is one that oneDNN's gemm computes on every processor.
TEST(OneDnnOfBothLibraries, ComputesMatrixProducts) {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor kernel = Tensor::from(std::vector<float>{1, 0, 2, 1, 0, 3}, {3, 2});
  EXPECT_THAT(dense(x, kernel, Tensor()).to_vector<float>(), ::testing::ElementsAre(5, 11, 14, 23));
  const torch::Tensor image = torch::arange(2 * 3 * 8 * 8).remainder(7).view({2, 3, 8, 8});
  const torch::Tensor filter = torch::arange(4 * 3 * 3 * 3).remainder(5).view({4, 3, 3, 3});
  const torch::Tensor in_f32 = torch::conv2d(image.to(torch::kFloat32), filter.to(torch::kFloat32));
  EXPECT_TRUE(torch::equal(in_f32.to(torch::kInt64), torch::conv2d(image, filter)));
}

}  // namespace
}  // namespace lockstep::test
