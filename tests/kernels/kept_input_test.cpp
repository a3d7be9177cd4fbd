#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/op/kept_input.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep::test {
namespace {

/// Two normalizations, concatenated, and two convolutions that read the result.
struct Convolutions {
  const Tensor x = random_tensor({2, 5, 6, 3}, 1);
  const Tensor gamma = random_tensor({3}, 2, 0.5, 1.5);
  const Tensor beta = random_tensor({3}, 3);
  const Tensor kernel = random_tensor({3, 3, 6, 4}, 4);
  const Tensor depthwise_kernel = random_tensor({3, 3, 6, 1}, 5);

  /// The gradients; the concatenated tensor, of which the normalizations are slices, is recomputed for them if `again`,
  /// otherwise kept.
  std::vector<std::vector<float>> gradients(bool again) const {
    const std::vector<Tensor> sources{x, gamma, beta, kernel, depthwise_kernel};
    GradientTape tape;
    for (const Tensor& source : sources) tape.watch(source);
    Tensor joined = Tensor::empty({2, 5, 6, 6});
    const Tensor left = batch_norm(x, gamma, beta, {.relu = true, .out = joined.slice_view(-1, 0, 3)}).y;
    const Tensor right = batch_norm(x, beta, gamma, {.out = joined.slice_view(-1, 3, 6)}).y;
    joined = concatenate(std::array{left, right}, -1);
    if (!again) joined = reshape(joined, joined.shape());  // a reshape records no recomputation
    EXPECT_EQ(static_cast<bool>(recompute_of(joined)), again);
    const Tensor loss = sum(conv2d(joined, kernel, {}, {.activation = Activation::relu})) +
                        sum(depthwise_conv2d(joined, depthwise_kernel, {}, {.activation = Activation::tanh}));
    std::vector<std::vector<float>> all;
    for (const Tensor& gradient : tape.gradient(loss, sources)) all.push_back(gradient.to_vector<float>());
    return all;
  }
};

TEST(KeptInput, MadeAgainGivesTheSameBits) {
  const Convolutions convolutions;
  EXPECT_EQ(convolutions.gradients(true), convolutions.gradients(false));
}

TEST(KeptInput, OfPartsJoinedAlongAnotherAxisIsKept) {
  const Convolutions of;
  GradientTape tape;
  tape.watch(of.x);
  const Tensor part = batch_norm(of.x, of.gamma, of.beta).y;
  EXPECT_TRUE(recompute_of(concatenate(std::array{part, part}, -1)));
  EXPECT_FALSE(recompute_of(concatenate(std::array{part, part}, 1)));
  EXPECT_FALSE(recompute_of(concatenate(std::array{part, of.x}, -1))) << "of one of them nothing is known";
}

TEST(KeptInput, OfGivenStatisticsIsKept) {
  const Convolutions of;
  GradientTape tape;
  tape.watch(of.x);
  EXPECT_FALSE(recompute_of(batch_norm_inference(of.x, of.gamma, of.beta, of.beta, of.gamma)));
}

TEST(KeptInput, IsReleasedByAConvolutionOnACpu) {
  const Convolutions of;
  GradientTape tape;
  tape.watch(of.gamma);
  const Tensor normalized = batch_norm(of.x, of.gamma, of.beta).y;
  const Tensor y = conv2d(normalized, random_tensor({3, 3, 3, 4}, 6), {});
  EXPECT_EQ(normalized.unique(), normalized.device().kind == DeviceKind::cpu);
  const Tensor second = conv2d(y, random_tensor({1, 1, 4, 2}, 7), {});
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
