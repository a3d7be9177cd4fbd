#include <algorithm>

#include <gtest/gtest.h>

#include <lockstep/kernels/attention/attention_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

struct AttentionSizes {
  std::int64_t batch, queries, keys, heads, key_heads, size, value_size;
};

// Smaller than a block, several blocks without and with a rest, and groups of heads.
const std::vector<AttentionSizes> all_sizes{
    {2, 3, 5, 2, 2, 4, 3}, {1, 64, 128, 2, 1, 16, 32}, {1, 70, 131, 4, 2, 24, 20}};

/// A mask (b, 1, tq, tk) by which queries 0, 5, 10, ... see nothing.
Tensor mask_of(const AttentionSizes& s) {
  std::vector<bool> seen;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t q = 0; q < s.queries; ++q)
      for (std::int64_t k = 0; k < s.keys; ++k) seen.push_back(q % 5 != 0 && (q + k + b) % 3 != 0);
  const Tensor mask = Tensor::empty({s.batch, 1, s.queries, s.keys}, DType::boolean);
  std::ranges::copy(seen, mask.span<bool>().begin());
  return mask.broadcast_view({s.batch, s.heads, s.queries, s.keys});
}

/// check(sizes, dtype, rule) for combinations of sizes and options.
template <class Check>
void for_each_attention(const Check& check) {
  const RandomKey key{.seed = 3, .stream = 4, .replica = 0, .step = 5};
  for (const AttentionSizes& s : all_sizes)
    for (const DType dtype : real_dtypes)
      for (const bool is_causal : {false, true})
        for (const float rate : {0.0F, 0.3F})
          for (const Tensor& mask : {Tensor(), mask_of(s)}) {
            SCOPED_TRACE(fmt::format("{} queries, {}, causal {}, dropout {}, mask {}", s.queries, name(dtype),
                                     is_causal, rate, mask.defined() ? mask.text() : "none"));
            check(s, dtype, kernels::AttentionRule{0.3F, is_causal, mask, rate, key});
          }
}

/// Queries, keys and values, as slices.
struct Operands {
  Operands(const AttentionSizes& s, DType dtype)
      : query(strided_copy(in_dtype(dtype, random_tensor({s.batch, s.queries, s.heads, s.size}, 1, -2, 2)))),
        key(strided_copy(in_dtype(dtype, random_tensor({s.batch, s.keys, s.key_heads, s.size}, 2, -2, 2)), 1)),
        value(strided_copy(in_dtype(dtype, random_tensor({s.batch, s.keys, s.key_heads, s.value_size}, 3)))) {}

  Tensor query, key, value;
};

/// Compares each element by itself: maxima of rows without keys are far larger than all others.
void expect_near_each(const Tensor& found, const Tensor& wanted) {
  const std::vector<float> a = found.to_vector<float>();
  const std::vector<float> b = wanted.to_vector<float>();
  for (std::size_t row = 0; row < b.size(); ++row)
    ASSERT_NEAR(a[row], b[row], 1e-5 * (1 + std::abs(b[row]))) << "row " << row;
}

TEST(GridAttention, ResultsMaximaAndSumsAreThoseOfTheCpu) {
  for_each_attention([](const AttentionSizes& s, DType dtype, const kernels::AttentionRule& rule) {
    const Operands in(s, dtype);
    const Shape rows{s.batch, s.heads, s.queries};
    Results before = unwritten({{s.batch, s.queries, s.heads, s.value_size}}, dtype);
    std::ranges::copy(unwritten({rows, rows}), std::back_inserter(before));
    const BothSources both(before, [&](const Runner& run, const Results& out) {
      run(kernels::AttentionByRows{in.query, in.key, in.value, rule, out[0], out[1], out[2]});
    });
    expect_close(both.grid[0], both.cpu[0].to_vector<double>(), s.keys + s.size);
    expect_near_each(both.grid[1], both.cpu[1]);
    expect_near_each(both.grid[2], both.cpu[2]);
  });
}

TEST(GridAttention, GradientsAreThoseOfTheCpu) {
  for_each_attention([](const AttentionSizes& s, DType dtype, const kernels::AttentionRule& rule) {
    const Operands in(s, dtype);
    const Shape results{s.batch, s.queries, s.heads, s.value_size};
    const Tensor y = Tensor::empty(results, dtype);
    const Tensor maximum = Tensor::empty({s.batch, s.heads, s.queries});
    const Tensor sum = Tensor::empty(maximum.shape());
    run_on_cpu(kernels::Attention{in.query, in.key, in.value, rule, y, maximum, sum});
    const Tensor dy = strided_copy(in_dtype(dtype, random_tensor(results, 4)));
    const auto gradients = [&](const Runner& run, const Results& out) {
      run(kernels::AttentionGradientByRows{in.query, in.key, in.value, rule, y, maximum, sum, dy, out[0], out[1],
                                           out[2]});
    };
    expect_near({in.query.shape(), in.key.shape(), in.value.shape()}, s.keys + s.queries * s.heads / s.key_heads,
                gradients, dtype);
  });
}

// The shared source has more weights here than it keeps in memory at once.
TEST(GridAttention, OfManyRowsIsThatOfTheCpu) {
  const Tensor query = random_tensor({1, 300, 2, 1}, 1, -2, 2);
  const Tensor key = random_tensor({1, 2000, 1, 1}, 2, -2, 2);
  const Tensor maximum = Tensor::empty({1, 2, 300});
  const Tensor sum = Tensor::empty(maximum.shape());
  const kernels::AttentionRule rule{1, true, {}, 0, {}};
  const auto both_ways = [&](const Runner& run, const Results& out) {
    run(kernels::AttentionByRows{query, key, key, rule, out[0], maximum, sum});
    run(kernels::AttentionGradientByRows{query, key, key, rule, out[0], maximum, sum, query, out[1], out[2], out[3]});
  };
  expect_near({query.shape(), query.shape(), key.shape(), key.shape()}, 2000, both_ways);
}

}  // namespace
}  // namespace lockstep::test
