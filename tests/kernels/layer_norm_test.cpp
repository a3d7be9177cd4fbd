#include <cmath>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/normalization/layer_norm.h>

namespace lockstep::test {
namespace {

// With a mean of a thousand deviations, f32 would lose the whole variance in E[x^2] - E[x]^2.
TEST(LayerNorm, SurvivesALargeMean) {
  const Tensor x = random_tensor({4, 300}, 1, 999, 1001);
  const Tensor y = layer_norm(x, Tensor::full({300}, 1), Tensor::zeros({300}));
  const Tensor of_deviations = layer_norm(x - 1000.0, Tensor::full({300}, 1), Tensor::zeros({300}));
  expect_close(y, of_deviations.to_vector<double>(), 1, 1000);
}

// With bf16 moments, all results would be off.
TEST(LayerNorm, OfBfloat16ComputesInF32) {
  const Tensor x = cast(random_tensor({6, 500}, 1, 1, 3), DType::bf16);
  const Tensor gamma = random_tensor({500}, 2, 0.5, 1.5);
  const Tensor beta = random_tensor({500}, 3);
  const Tensor y = layer_norm(x, gamma, beta);
  EXPECT_EQ(y.dtype(), DType::bf16);
  const std::vector<double> exact = layer_norm(cast(x, DType::f32), gamma, beta).to_vector<double>();
  const std::vector<double> found = y.to_vector<double>();
  for (std::size_t i = 0; i < exact.size(); ++i)
    ASSERT_LE(std::abs(found[i] - exact[i]), std::ldexp(std::abs(exact[i]), -8) + 1e-5) << i;
}

TEST(LayerNorm, NamesShapesThatDoNotFit) {
  const std::vector<Tensor> in{Tensor::zeros({4, 5}), Tensor::zeros({5}), Tensor::zeros({5})};
  EXPECT_ERROR(InvalidArgument, "x must be f32 or bf16 (..., features), got f32 ()",
               layer_norm(Tensor::zeros({}), in[1], in[2]));
  EXPECT_ERROR(InvalidArgument, "gamma for x (4, 5) must be f32 (5), got f32 (4)",
               layer_norm(in[0], Tensor::zeros({4}), in[2]));
  EXPECT_ERROR(InvalidArgument, "beta for x (4, 5) must be f32 (5)", layer_norm(in[0], in[1], {}));
}

}  // namespace
}  // namespace lockstep::test
