#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/gpu_capture.h>
#include <lockstep/runtime/memory/memory_pool.h>

// Attention of bf16 with dropout. On GPUs, cuDNN draws the random numbers, so the tests find out from the results which
// weights were dropped.

namespace lockstep::test {
namespace {

constexpr std::int64_t batch = 2, queries = 48, keys = 96, size = 64;
constexpr float rate = 0.3F;

struct Dropped {
  const char* name;
  std::int64_t heads, key_heads;
  bool is_causal = false;
  bool is_masked = false;
};

Tensor bf16_numbers(const Shape& shape, unsigned seed) {
  return to_current_device(cast(random_tensor(shape, seed), DType::bf16));
}

/// (b, 1, tq, tk); some queries see no key.
Tensor random_mask() {
  const Tensor by_query = random_tensor({batch, 1, queries, 1}, 5, -2, 2);
  return to_current_device(greater(random_tensor({batch, 1, queries, keys}, 4) + by_query, 0));
}

/// The weights of a query after dropout are its results of these values, of the identity matrix for each head.
Tensor identity(std::int64_t key_heads) {
  const Tensor one = reshape(eye(keys, keys, 0, DType::bf16), {1, keys, 1, keys});
  return one * Tensor::full({batch, keys, key_heads, keys}, 1, DType::bf16);
}

/// y and the gradients of query, key and value.
using Results = std::vector<Tensor>;

class AttentionDropout : public testing::TestWithParam<Dropped> {
 protected:
  Results results_of(const Tensor& value, const std::function<RandomKey()>& next_key) const {
    const std::array inputs{query_, key_, value};
    GradientTape tape;
    for (const Tensor& input : inputs) tape.watch(input);
    Results all{dot_product_attention(
        query_, key_, value, {.is_causal = c_.is_causal, .mask = mask_, .dropout_rate = rate, .next_key = next_key})};
    for (const Tensor& gradient : tape.gradient(all[0], inputs, dy_)) all.push_back(gradient);
    return all;
  }
  Results results_of(const Tensor& value, const RandomKey& key) const {
    return results_of(value, [key] { return key; });
  }

  /// (b, heads, tq, tk), f32
  Tensor weights_after_dropout(const RandomKey& key) const {
    return cast(transpose(results_of(identity(c_.key_heads), key)[0], {0, 2, 1, 3}), DType::f32);
  }

  /// The weights before dropout, in f32.
  Tensor weights(const Tensor& query, const Tensor& key) const {
    const std::int64_t group = c_.heads / c_.key_heads;
    const Tensor scores =
        einsum("bqhgd,bkhd->bhgqk", reshape(query, {batch, queries, c_.key_heads, group, size}), key) / std::sqrt(size);
    return softmax(where(seen_, reshape(scores, seen_.shape()), -1e30));
  }

  /// The attention composed of ops in f32, whose weights are multiplied by constant factors.
  Results composed(const Tensor& value, const Tensor& factors) const {
    const std::array inputs{cast(query_, DType::f32), cast(key_, DType::f32), cast(value, DType::f32)};
    GradientTape tape;
    for (const Tensor& input : inputs) tape.watch(input);
    const Tensor kept = weights(inputs[0], inputs[1]) * factors;
    const std::int64_t group = c_.heads / c_.key_heads;
    const Tensor y = einsum("bhgqk,bkhd->bqhgd", reshape(kept, {batch, c_.key_heads, group, queries, keys}), inputs[2]);
    Results all{reshape(y, dy_.shape())};
    for (const Tensor& gradient : tape.gradient(all[0], inputs, cast(dy_, DType::f32))) all.push_back(gradient);
    return all;
  }

  const Dropped& c_ = GetParam();
  const RandomKey key_of_numbers_{.seed = 7, .stream = 2, .replica = 1, .step = 4};
  const Tensor query_ = bf16_numbers({batch, queries, c_.heads, size}, 1);
  const Tensor key_ = bf16_numbers({batch, keys, c_.key_heads, size}, 2);
  const Tensor dy_ = bf16_numbers({batch, queries, c_.heads, keys}, 3);
  const Tensor mask_ = c_.is_masked ? random_mask() : Tensor();
  const Tensor seen_ = [this] {
    Tensor seen = Tensor::full({batch, c_.heads, queries, keys}, 1, DType::boolean);
    if (c_.is_causal) seen = tril(seen);
    return c_.is_masked ? logical_and(seen, mask_) : seen;
  }();
};

TEST_P(AttentionDropout, DropsAboutItsRateAndScalesTheRest) {
  const std::vector<float> after = weights_after_dropout(key_of_numbers_).to_vector<float>();
  const std::vector<float> before = weights(cast(query_, DType::f32), cast(key_, DType::f32)).to_vector<float>();
  const std::vector<bool> seen = [&] {
    const std::vector<float> all = cast(seen_, DType::f32).to_vector<float>();
    return std::vector<bool>(all.begin(), all.end());
  }();
  double all = 0;
  double dropped = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) continue;
    ++all;
    if (after[i] == 0) {
      ++dropped;
    } else {
      ASSERT_NEAR(after[i] / before[i] * (1 - rate), 1, 0.02) << "weight " << i;
    }
  }
  const auto p = static_cast<double>(rate);
  EXPECT_NEAR(dropped / all, p, 5 * std::sqrt(p * (1 - p) / all));  // five standard deviations
}

TEST_P(AttentionDropout, HasTheGradientsOfTheWeightsThatAreLeft) {
  const Tensor before = weights(cast(query_, DType::f32), cast(key_, DType::f32));
  const Tensor factors = where(greater(before, 0), weights_after_dropout(key_of_numbers_) / before, 0);
  const Tensor value = bf16_numbers({batch, keys, c_.key_heads, keys}, 6);
  const Results found = results_of(value, key_of_numbers_);
  const Results expected = composed(value, factors);
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<double> wanted = expected[i].to_vector<double>();
    const std::vector<double> got = found[i].to_vector<double>();
    double largest = 0;
    for (const double x : wanted) largest = std::max(largest, std::abs(x));
    for (std::size_t k = 0; k < wanted.size(); ++k) ASSERT_NEAR(got[k], wanted[k], largest / 32) << "element " << k;
  }
}

TEST_P(AttentionDropout, DependsOnTheKeyAlone) {
  const Tensor value = bf16_numbers({batch, keys, c_.key_heads, keys}, 6);
  const Results first = results_of(value, key_of_numbers_);
  const Results again = results_of(value, key_of_numbers_);
  for (std::size_t i = 0; i < first.size(); ++i) expect_same_bits(first[i], again[i]);
  const auto dropped = [&](const RandomKey& key) { return equal(weights_after_dropout(key), 0).to_vector<float>(); };
  const std::vector<float> one = dropped(key_of_numbers_);
  for (const RandomKey& other : {RandomKey{.seed = 8, .stream = 2, .replica = 1, .step = 4},
                                 RandomKey{.seed = 7, .stream = 3, .replica = 1, .step = 4},
                                 RandomKey{.seed = 7, .stream = 2, .replica = 0, .step = 4},
                                 RandomKey{.seed = 7, .stream = 2, .replica = 1, .step = 5}})
    EXPECT_NE(dropped(other), one);
}

/// On GPUs, from a captured graph.
TEST_P(AttentionDropout, DrawsOtherNumbersEachTimeItIsRepeated) {
  const LogicalDevice device = current_context().device;
  const Tensor value = bf16_numbers({batch, keys, c_.key_heads, keys}, 6);
  RandomKey key = key_of_numbers_;
  Results results;
  std::function<void()> repeat = [&] { results = results_of(value, [&] { return key; }); };
  CapturedWork work;
  if (device.kind == DeviceKind::gpu) {
    const MemoryPool pool(device);
    const MemoryPoolScope apart(pool);
    for (int warm_up = 0; warm_up < 2; ++warm_up) repeat();
    GpuCapture capture(device);
    repeat();
    work = capture.take();
    repeat = [&] { work.launch(); };
  }
  std::vector<std::vector<float>> repeated;
  for (const std::uint64_t step : {5, 6}) {
    key.step = step;
    repeat();
    const Results expected = results_of(value, key);
    for (std::size_t i = 0; i < results.size(); ++i) expect_same_bits(results[i], expected[i]);
    repeated.push_back(results[0].to_vector<float>());
  }
  EXPECT_NE(repeated[0], repeated[1]);
}

INSTANTIATE_TEST_SUITE_P(All, AttentionDropout,
                         testing::Values(Dropped{"plain", 4, 4}, Dropped{"groups", 4, 2}, Dropped{"causal", 4, 4, true},
                                         Dropped{"mask", 4, 4, false, true},
                                         Dropped{"causal_groups_with_mask", 4, 2, true, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lockstep::test
