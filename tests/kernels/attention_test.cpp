#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/memory/allocator.h>

namespace lockstep::test {
namespace {

using testing::HasSubstr;

/// Attention of as many heads of keys as of queries, composed of other ops.
Tensor composed_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  const Tensor scores = matmul(transpose(query, {0, 2, 1, 3}), transpose(key, {0, 2, 3, 1}));
  const Tensor weights = softmax(scores * (1 / std::sqrt(static_cast<double>(query.dim(3)))));
  return transpose(matmul(weights, transpose(value, {0, 2, 1, 3})), {0, 2, 1, 3});
}

TEST(Attention, IsThatOfComposedOps) {
  const std::array inputs{random_tensor({2, 5, 3, 4}, 1), random_tensor({2, 7, 3, 4}, 2),
                          random_tensor({2, 7, 3, 6}, 3)};
  const auto results = [&](const auto& attention) {
    GradientTape tape;
    for (const Tensor& input : inputs) tape.watch(input);
    std::vector<Tensor> all{attention(inputs[0], inputs[1], inputs[2])};
    const Tensor loss = sum(all[0] * random_tensor(all[0].shape(), 4));
    for (const Tensor& gradient : tape.gradient(loss, inputs)) all.push_back(gradient);
    return all;
  };
  const std::vector<Tensor> fused =
      results([](const Tensor& q, const Tensor& k, const Tensor& v) { return dot_product_attention(q, k, v); });
  const std::vector<Tensor> composed = results(composed_attention);
  for (std::size_t i = 0; i < fused.size(); ++i) expect_close(fused[i], composed[i].to_vector<double>(), 20);
}

TEST(Attention, OfOneTensorSumsItsThreeGradients) {
  const Tensor x = random_tensor({2, 5, 2, 4}, 1);
  const Tensor weights = random_tensor(x.shape(), 2);
  const auto gradients = [&](const std::vector<Tensor>& inputs) {
    GradientTape tape;
    for (const Tensor& input : inputs) tape.watch(input);
    const Tensor y = dot_product_attention(inputs.front(), inputs[inputs.size() / 2], inputs.back());
    return tape.gradient(sum(y * weights), inputs);
  };
  const std::vector<Tensor> apart = gradients({dense_copy(x), dense_copy(x) * 1, dense_copy(x) * 1});
  expect_close(gradients({x})[0], (apart[0] + apart[1] + apart[2]).to_vector<double>(), 20);
}

TEST(Attention, MasksOfAllDtypesHideTheSame) {
  const Tensor x = random_tensor({2, 5, 2, 4}, 1);
  const Tensor bytes = Tensor::from(std::vector<std::uint8_t>{1, 0, 255, 0, 1}, {5});
  const Tensor words = Tensor::from(std::vector<std::int32_t>{-1, 0, 256, 0, 1}, {1, 1, 1, 5});
  expect_same_bits(dot_product_attention(x, x, x, {.mask = bytes}), dot_product_attention(x, x, x, {.mask = words}));
  const Tensor numbers = Tensor::from(std::vector<float>{-0.5F, 0, 1e-9F, -0.0F, 1}, {1, 5});
  expect_same_bits(dot_product_attention(x, x, x, {.mask = bytes}), dot_product_attention(x, x, x, {.mask = numbers}));
}

TEST(Attention, LargeScoresStayFinite) {
  const Tensor x = random_tensor({1, 70, 2, 4}, 1, -1e4, 1e4);
  for (const float y : dot_product_attention(x, x, x).to_vector<float>()) ASSERT_TRUE(std::isfinite(y));
}

/// Sets the highest resident size of the process to the current one. False if that is not possible or not meaningful.
bool reset_highest_resident_size() {
#ifdef LOCKSTEP_SANITIZED
  return false;  // sanitizers keep freed memory
#else
  return static_cast<bool>(std::ofstream("/proc/self/clear_refs") << 5 << std::flush);
#endif
}

/// The number of bytes in this field of the process's status.
std::int64_t resident_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::int64_t kilobytes = 0; word == field && status >> kilobytes) return kilobytes << 10;
  return 0;
}

TEST(Attention, NeverHoldsTheScoresOfAllQueries) {
  constexpr std::int64_t time = 2048;
  constexpr std::int64_t bytes_of_scores = time * time * std::int64_t{sizeof(float)};
  const auto differentiate = [](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sum(dot_product_attention(x, x, x)), std::span(&x, 1)).front();
  };
  differentiate(random_tensor({1, 64, 1, 16}, 1));  // starts threads
  const Tensor x = to_current_device(random_tensor({1, time, 1, 16}, 1));
  CachingAllocator& memory = allocator(x.device());
  const auto in_use = memory.stats().bytes_in_use;
  memory.reset_peak();
  const bool knows_highest = reset_highest_resident_size();
  const std::int64_t resident = resident_bytes("VmRSS:");
  const Tensor dx = differentiate(x);
  EXPECT_EQ(dx.shape(), x.shape());
  EXPECT_LT(memory.stats().bytes_peak - in_use, static_cast<std::size_t>(bytes_of_scores / 8));
  const std::int64_t growth = resident_bytes("VmHWM:") - resident;
  EXPECT_TRUE(!knows_highest || growth < bytes_of_scores / 2) << growth;
}

/// The error of attention of queries, keys and values of these shapes.
std::string refusal(const Shape& query, const Shape& key, const Shape& value, const AttentionOptions& options = {}) {
  return error_of<InvalidArgument>(
      [&] { dot_product_attention(Tensor::zeros(query), Tensor::zeros(key), Tensor::zeros(value), options); });
}

TEST(Attention, RefusesShapesThatDoNotFit) {
  EXPECT_THAT(refusal({2, 3, 4}, {2, 3, 4}, {2, 3, 4}), HasSubstr("takes tensors (batch, time, heads, size), got"));
  EXPECT_THAT(refusal({1, 3, 2, 4}, {2, 3, 2, 4}, {2, 3, 2, 4}),
              HasSubstr("must have one batch and one size of heads"));
  EXPECT_THAT(refusal({2, 3, 2, 4}, {2, 3, 2, 5}, {2, 3, 2, 5}),
              HasSubstr("must have one batch and one size of heads"));
  EXPECT_THAT(refusal({2, 3, 2, 4}, {2, 3, 2, 4}, {2, 4, 2, 4}),
              HasSubstr("one time of at least 1, and the same heads"));
  EXPECT_THAT(refusal({2, 3, 2, 4}, {2, 0, 2, 4}, {2, 0, 2, 4}),
              HasSubstr("one time of at least 1, and the same heads"));
  EXPECT_THAT(refusal({2, 3, 3, 4}, {2, 3, 2, 4}, {2, 3, 2, 4}),
              HasSubstr("the heads of query (2, 3, 3, 4) are no multiple of key (2, 3, 2, 4)'s"));
}

TEST(Attention, TakesMasksOfAnyDtype) {
  const Tensor x = random_tensor({2, 3, 2, 4}, 1);
  const Tensor mask = Tensor::from(std::vector<float>{1, 0, 0, 0, 0.25, 0, 1, 0, -2}, {3, 3});
  const auto attended = [&](const Tensor& seen) {
    return dot_product_attention(x, x, x, {.mask = seen}).to_vector<float>();
  };
  const std::vector<float> expected = attended(not_equal(mask, 0));
  EXPECT_NE(expected, attended(Tensor()));
  for (const DType dtype : {DType::f32, DType::bf16}) EXPECT_EQ(attended(cast(mask, dtype)), expected) << name(dtype);
  for (const DType dtype : {DType::u8, DType::i32, DType::i64})
    EXPECT_EQ(attended(cast(not_equal(mask, 0), dtype)), expected) << name(dtype);
}

TEST(Attention, RefusesOtherMasks) {
  const Shape x{2, 3, 2, 4};
  EXPECT_THAT(refusal(x, x, x, {.mask = Tensor::zeros({2, 1, 4, 3}, DType::u8)}),
              HasSubstr("a mask (2, 1, 4, 3) does not broadcast to scores (batch, heads, queries, keys) (2, 2, 3, 3)"));
}

TEST(Attention, RefusesOtherBiases) {
  const Shape x{2, 3, 2, 4};
  EXPECT_THAT(refusal(x, x, x, {.bias = Tensor::zeros({4, 3})}),
              HasSubstr("a bias (4, 3) does not broadcast to scores (batch, heads, queries, keys) (2, 2, 3, 3)"));
  EXPECT_THAT(refusal(x, x, x, {.bias = Tensor::zeros({3}, DType::i64)}), HasSubstr("takes f32 or bf16, got i64 (3)"));
}

TEST(Attention, TakesBiasesOfMinusInfinity) {
  const Tensor x = random_tensor({2, 3, 2, 4}, 1);
  const Tensor seen = Tensor::from<bool>({true, false, true}, {3});
  const Tensor bias = where(seen, Tensor::zeros({}), -std::numeric_limits<float>::infinity());
  expect_close(dot_product_attention(x, x, x, {.bias = bias}),
               dot_product_attention(x, x, x, {.mask = seen}).to_vector<double>(), 12);
}

TEST(Attention, DropsWeightsWithABias) {
  const Tensor x = Tensor::full({1, 200, 1, 4}, 1);
  AttentionOptions options{.bias = Tensor::zeros({}), .dropout_rate = 0.5F};
  options.next_key = [] { return RandomKey{.seed = 3}; };
  const std::vector<float> y = dot_product_attention(x, x, x, options).to_vector<float>();
  EXPECT_NEAR(std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size()), 1, 0.05);
  EXPECT_NE(y.front(), 1);
}

TEST(Attention, RefusesOtherDropout) {
  const Shape x{2, 3, 2, 4};
  EXPECT_THAT(refusal(x, x, x, {.dropout_rate = 1}), HasSubstr("a dropout rate of at least 0 and less than 1, got 1"));
  EXPECT_THAT(refusal(x, x, x, {.dropout_rate = 0.5F}), HasSubstr("with dropout needs next_key"));
}

TEST(Attention, RefusesTensorsOfSeveralDtypes) {
  const Tensor x = Tensor::zeros({2, 3, 2, 4});
  EXPECT_THAT(error_of<InvalidArgument>([&] { dot_product_attention(x, cast(x, DType::bf16), x); }),
              HasSubstr("takes tensors of one dtype"));
}

}  // namespace
}  // namespace lockstep::test
