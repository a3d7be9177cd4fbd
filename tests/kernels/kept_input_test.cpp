#include <vector>

#include <gtest/gtest.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/ops/batch_norm.h>
#include <lockstep/kernels/ops/conv2d.h>
#include <lockstep/kernels/ops/kept_input.h>
#include <lockstep/kernels/ops/reduction.h>

namespace lockstep::test {
namespace {

/// A normalization and two convolutions that read it.
struct Convolutions {
  const Tensor x = random_tensor({2, 5, 6, 3}, 1);
  const Tensor gamma = random_tensor({3}, 2, 0.5, 1.5);
  const Tensor beta = random_tensor({3}, 3);
  const Tensor kernel = random_tensor({3, 3, 3, 4}, 4);
  const Tensor depthwise_kernel = random_tensor({3, 3, 3, 1}, 5);

  /// Of all of these, when the normalization writes to `out`, if that is defined.
  std::vector<std::vector<float>> gradients(const Tensor& out) const {
    const std::vector<Tensor> sources{x, gamma, beta, kernel, depthwise_kernel};
    GradientTape tape;
    for (const Tensor& source : sources) tape.watch(source);
    const Tensor y = batch_norm(x, gamma, beta, {.relu = true, .out = out}).y;
    EXPECT_EQ(static_cast<bool>(remake_of(y)), !out.defined());
    const Tensor loss = sum(conv2d(y, kernel, {}, {.activation = Activation::relu})) +
                        sum(depthwise_conv2d(y, depthwise_kernel, {}, {.activation = Activation::tanh}));
    std::vector<std::vector<float>> all;
    for (const Tensor& gradient : tape.gradient(loss, sources)) all.push_back(gradient.to_vector<float>());
    return all;
  }
};

TEST(KeptInput, MadeAgainGivesTheSameBits) {
  const Convolutions convolutions;
  EXPECT_EQ(convolutions.gradients({}), convolutions.gradients(Tensor::empty(convolutions.x.shape())));
}

TEST(KeptInput, IsReleasedByAConvolutionOnACpu) {
  const Convolutions of;
  GradientTape tape;
  tape.watch(of.gamma);
  const Tensor normalized = batch_norm(of.x, of.gamma, of.beta).y;
  const Tensor y = conv2d(normalized, of.kernel, {});
  EXPECT_EQ(normalized.unique(), normalized.device().kind == DeviceKind::cpu);
  const Tensor second = conv2d(y, random_tensor({1, 1, 4, 2}, 6), {});
  EXPECT_FALSE(y.unique()) << "nobody has said how it is made again";
}

TEST(KeptInput, OfAnOpWithoutATapeIsKept) {
  const Tensor x = random_tensor({2, 3}, 1);
  const KeptInput kept(x);
  EXPECT_EQ(kept.get().raw_data(), x.raw_data());
  EXPECT_EQ(kept.shape(), x.shape());
}

}  // namespace
}  // namespace lockstep::test
