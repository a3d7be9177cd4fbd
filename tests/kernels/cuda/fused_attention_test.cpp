#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/tensors.h>
#include <support/tolerance.h>

#include <lockstep/kernels/attention/mask_kernels.h>
#include <lockstep/kernels/cuda/fused_attention.h>
#include <lockstep/kernels/op/layout.h>

namespace lockstep::test {
namespace {

using cudnn::FusedAttention;
using cudnn::Layout;
using kernels::AttentionRule;

Tensor bf16_numbers(const Shape& shape, unsigned seed) {
  return in_dtype(DType::bf16, random_tensor(shape, seed, -1, 1));
}

/// (b, time, heads, size) as a slice of memory (b, time, 3, heads, size), as a layer's joint projection has it.
Tensor slice_of_projection(const Shape& shape, unsigned seed) {
  const Tensor all = bf16_numbers({shape[0], shape[1], 3 * shape[2], shape[3]}, seed);
  return all.slice_view(2, shape[2], 2 * shape[2]);
}

/// True where `seen(example, head, query, key)`, of this shape, broadcast to `scores`.
template <class Seen>
Tensor mask_of(const Shape& shape, const Shape& scores, const Seen& seen) {
  const Tensor mask = Tensor::empty(shape, DType::boolean);
  bool* element = mask.data<bool>();
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t h = 0; h < shape[1]; ++h)
      for (std::int64_t q = 0; q < shape[2]; ++q)
        for (std::int64_t k = 0; k < shape[3]; ++k) *element++ = seen(b, h, q, k);
  return mask.broadcast_view(scores);
}

TEST(FusedAttention, LaysOutHeadsBeforeTimeInCudnnsOrder) {
  const Tensor query = slice_of_projection({2, 5, 4, 8}, 1);
  const Tensor key = bf16_numbers({2, 7, 2, 8}, 2);
  const Tensor value = bf16_numbers({2, 7, 2, 16}, 3);
  const FusedAttention a({.scale = 0.5F, .is_causal = true, .mask = {}, .dropout_rate = 0, .key = {}}, query, key,
                         value, {}, bf16_numbers({2, 5, 4, 16}, 4));
  EXPECT_EQ(a.query, (Layout{{2, 4, 5, 8}, {480, 8, 96, 1}}));
  EXPECT_EQ(a.dquery(), (Layout{{2, 4, 5, 8}, {160, 8, 32, 1}}));
  EXPECT_EQ(a.key, (Layout{{2, 2, 7, 8}, {112, 8, 16, 1}}));
  EXPECT_EQ(a.dkey(), a.key);
  EXPECT_EQ(a.value, (Layout{{2, 2, 7, 16}, {224, 16, 32, 1}}));
  EXPECT_EQ(a.dvalue(), a.value);
  EXPECT_EQ(a.y(), (Layout{{2, 4, 5, 16}, {320, 16, 64, 1}}));
  EXPECT_EQ(a.dy, a.y());
  EXPECT_EQ(a.log_sum_exp(), (Layout{{2, 4, 5, 1}, {20, 5, 1, 1}}));
  EXPECT_EQ(
      a.text(),
      "gradient of attention of bf16 queries (2, 5, 4, 8) with strides (480, 96, 8, 1), keys (2, 7, 2, 8), values "
      "(2, 7, 2, 16), scale 0.5, causal, dy (2, 5, 4, 16)");
}

TEST(FusedAttention, BroadcastsTheBiasAsItsMask) {
  const Shape scores{2, 4, 5, 7};
  const auto any = [](auto...) { return true; };
  const auto masked = [&](const Shape& mask) {
    const Tensor narrow = cudnn::narrow_mask(mask_of(mask, scores, any));
    const Tensor x = bf16_numbers({2, 5, 4, 8}, 1);
    return FusedAttention({}, x, x, x, cudnn::empty_bias(narrow));
  };
  const auto bias_of = [&](const Shape& mask) { return *masked(mask).bias; };
  EXPECT_THAT(masked({2, 1, 1, 7}).text(), ::testing::EndsWith(", mask (2, 1, 1, 7)"));
  EXPECT_EQ(bias_of({2, 1, 1, 7}), (Layout{{2, 1, 5, 7}, {8, 8, 0, 1}}));
  EXPECT_EQ(bias_of({1, 1, 5, 7}), (Layout{{1, 1, 5, 7}, {40, 40, 8, 1}}));
  EXPECT_EQ(bias_of({2, 4, 5, 7}), (Layout{{2, 4, 5, 7}, {160, 40, 8, 1}}));
  EXPECT_EQ(bias_of({1, 4, 5, 1}), (Layout{{1, 4, 5, 7}, {160, 40, 8, 1}}));
}

TEST(FusedAttention, IsAKeyOfAllThatAPlanDependsOn) {
  const Tensor x = bf16_numbers({2, 5, 4, 8}, 1);
  const FusedAttention a({.scale = 0.5F, .is_causal = false, .mask = {}, .dropout_rate = 0, .key = {}}, x, x, x, {});
  EXPECT_EQ(a, FusedAttention(a));
  EXPECT_NE(
      a, FusedAttention({.scale = 0.25F, .is_causal = false, .mask = {}, .dropout_rate = 0, .key = {}}, x, x, x, {}));
  EXPECT_NE(a,
            FusedAttention({.scale = 0.5F, .is_causal = true, .mask = {}, .dropout_rate = 0, .key = {}}, x, x, x, {}));
  EXPECT_NE(
      a, FusedAttention({.scale = 0.5F, .is_causal = false, .mask = {}, .dropout_rate = 0.1F, .key = {}}, x, x, x, {}));
  const AttentionRule rule{.scale = 0.5F, .is_causal = false, .mask = {}, .dropout_rate = 0, .key = {}};
  EXPECT_NE(a, FusedAttention(rule, slice_of_projection(x.shape(), 1), x, x, {}));
  EXPECT_NE(a, FusedAttention(rule, x, x, x, {}, x));
  EXPECT_NE(a, FusedAttention(rule, x, x, x, Tensor::empty({1, 1, 1, 5}, DType::bf16)));
}

TEST(FusedAttention, NamesTheRateOfDropout) {
  const Tensor x = bf16_numbers({2, 5, 4, 8}, 1);
  const AttentionRule rule{.scale = 0.5F, .is_causal = true, .mask = {}, .dropout_rate = 0.1F, .key = {}};
  const FusedAttention a(rule, x, x, x, {});
  EXPECT_THAT(a.text(), ::testing::EndsWith(", scale 0.5, causal, dropout 0.1"));
  EXPECT_EQ(a.seed(), (Layout{{1, 1, 1, 1}, {1, 1, 1, 1}}));
}

TEST(TakesAttention, OfBfloat16InHeadsOfWholeVectors) {
  const auto takes = [](const Shape& query, const Shape& value, DType dtype, float scale, float rate) {
    const AttentionRule rule{.scale = scale, .is_causal = true, .mask = {}, .dropout_rate = rate, .key = {}};
    return cudnn::takes_attention(Tensor::empty(query, dtype), Tensor::empty(value, dtype), rule);
  };
  const Shape of_64{2, 5, 4, 64};
  EXPECT_TRUE(takes(of_64, {2, 7, 2, 40}, DType::bf16, 0.1F, 0));
  EXPECT_FALSE(takes(of_64, {2, 7, 2, 40}, DType::f32, 0.1F, 0));
  EXPECT_TRUE(takes(of_64, {2, 7, 2, 40}, DType::bf16, 0.1F, 0.1F));
  EXPECT_FALSE(takes(of_64, {2, 7, 2, 42}, DType::bf16, 0.1F, 0));
  EXPECT_FALSE(takes({2, 5, 4, 60}, of_64, DType::bf16, 0.1F, 0));
  EXPECT_TRUE(takes({65'535, 1, 1, 8}, {65'535, 2, 1, 8}, DType::bf16, 0.1F, 0));
  EXPECT_FALSE(takes({65'536, 1, 1, 8}, {65'536, 2, 1, 8}, DType::bf16, 0.1F, 0));
  EXPECT_FALSE(takes({1, 1, 65'536, 8}, {1, 2, 65'536, 8}, DType::bf16, 0.1F, 0));
  EXPECT_FALSE(takes(of_64, of_64, DType::bf16, std::numeric_limits<float>::infinity(), 0));
}

TEST(TakesStrides, OfHeadsThatBeginAtMultiplesOf16Bytes) {
  const Tensor x = Tensor::empty({2, 6, 4, 24}, DType::bf16);
  EXPECT_TRUE(cudnn::takes_strides(x));
  EXPECT_TRUE(cudnn::takes_strides(x.slice_view(3, 8, 16)));
  EXPECT_TRUE(cudnn::takes_strides(x.slice_view(1, 1, 4).slice_view(2, 3, 4)));
  EXPECT_FALSE(cudnn::takes_strides(x.slice_view(3, 4, 12)));                                          // address
  EXPECT_FALSE(cudnn::takes_strides(Tensor::empty({2, 6, 4, 20}, DType::bf16).slice_view(3, 0, 16)));  // strides
  EXPECT_FALSE(cudnn::takes_strides(Tensor::empty({1, 6, 4, 24}, DType::bf16).broadcast_view({2, 6, 4, 24})));
}

std::int64_t place_in(const Layout& layout, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  EXPECT_TRUE(a < layout.sizes[0] && b < layout.sizes[1] && c < layout.sizes[2] && d < layout.sizes[3]);
  return a * layout.strides[0] + b * layout.strides[1] + c * layout.strides[2] + d * layout.strides[3];
}

template <class T>
struct Elements {
  T* first;
  Layout layout;

  double operator()(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
    return static_cast<double>(static_cast<float>(first[place_in(layout, a, b, c, d)]));
  }
  void set(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d, double value) const {
    first[place_in(layout, a, b, c, d)] = T(static_cast<float>(value));
  }
};

/// Both passes of attention by cuDNN's definition in terms of its description, in double precision.
class DefinedAttention {
 public:
  DefinedAttention(const FusedAttention& a, const Tensor& query, const Tensor& key, const Tensor& value,
                   const Tensor& bias)
      : a_(a), query_(of(query, a.query)), key_(of(key, a.key)), value_(of(value, a.value)) {
    if (a.bias) bias_ = of(bias, *a.bias);
  }

  /// Writes NaN for queries that see no key: cuDNN promises nothing for them.
  void forward(const Tensor& y, const Tensor& log_sum_exp) const {
    for_each_row([&](std::int64_t b, std::int64_t h, std::int64_t q) {
      double sum = 0;
      for (std::int64_t k = 0; k < keys(); ++k) sum += std::exp(score(b, h, q, k));
      const double log_sum = sum > 0 ? std::log(sum) : std::nan("");
      Elements<float>{log_sum_exp.data<float>(), a_.log_sum_exp()}.set(b, h, q, 0, log_sum);
      for (std::int64_t c = 0; c < a_.value.sizes[3]; ++c) {
        double total = sum > 0 ? 0 : std::nan("");
        for (std::int64_t k = 0; k < keys(); ++k)
          total += std::exp(score(b, h, q, k) - log_sum) * value_(b, h / group(), k, c);
        of(y, a_.y()).set(b, h, q, c, total);
      }
    });
  }

  void gradient(const Tensor& y, const Tensor& log_sum_exp, const Tensor& dy, const Tensor& dquery, const Tensor& dkey,
                const Tensor& dvalue) const {
    const Elements<float> logs{log_sum_exp.data<float>(), a_.log_sum_exp()};
    std::vector<double> dq(elements(dquery));
    std::vector<double> dk(elements(dkey));
    std::vector<double> dv(elements(dvalue));
    for_each_row([&](std::int64_t b, std::int64_t h, std::int64_t q) {
      const std::int64_t shared = h / group();
      const auto dot = [&](const auto& x) {
        double total = 0;
        for (std::int64_t c = 0; c < a_.value.sizes[3]; ++c) total += of(dy, *a_.dy)(b, h, q, c) * x(c);
        return total;
      };
      const double of_result = dot([&](std::int64_t c) { return of(y, a_.y())(b, h, q, c); });
      for (std::int64_t k = 0; k < keys(); ++k) {
        const double weight = std::exp(score(b, h, q, k) - logs(b, h, q, 0));
        const double dscore = weight * (dot([&](std::int64_t c) { return value_(b, shared, k, c); }) - of_result);
        for (std::int64_t c = 0; c < a_.query.sizes[3]; ++c) {
          dq[at(a_.dquery(), b, h, q, c)] += static_cast<double>(a_.scale) * dscore * key_(b, shared, k, c);
          dk[at(a_.dkey(), b, shared, k, c)] += static_cast<double>(a_.scale) * dscore * query_(b, h, q, c);
        }
        for (std::int64_t c = 0; c < a_.value.sizes[3]; ++c)
          dv[at(a_.dvalue(), b, shared, k, c)] += weight * of(dy, *a_.dy)(b, h, q, c);
      }
    });
    round(dq, dquery);
    round(dk, dkey);
    round(dv, dvalue);
  }

 private:
  static Elements<bfloat16> of(const Tensor& x, const Layout& layout) { return {x.data<bfloat16>(), layout}; }
  static std::size_t at(const Layout& layout, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return static_cast<std::size_t>(place_in(layout, a, b, c, d));
  }
  static std::size_t elements(const Tensor& x) { return static_cast<std::size_t>(x.elements()); }
  static void round(const std::vector<double>& values, const Tensor& x) {
    std::ranges::transform(values, x.data<bfloat16>(), [](double v) { return bfloat16(static_cast<float>(v)); });
  }
  template <class Visit>
  void for_each_row(const Visit& visit) const {
    for (std::int64_t b = 0; b < a_.query.sizes[0]; ++b)
      for (std::int64_t h = 0; h < a_.query.sizes[1]; ++h)
        for (std::int64_t q = 0; q < a_.query.sizes[2]; ++q) visit(b, h, q);
  }
  std::int64_t keys() const { return a_.key.sizes[2]; }
  std::int64_t group() const { return a_.query.sizes[1] / a_.key.sizes[1]; }

  double score(std::int64_t b, std::int64_t h, std::int64_t q, std::int64_t k) const {
    if (a_.is_causal && k > q) return -std::numeric_limits<double>::infinity();
    double product = 0;
    for (std::int64_t c = 0; c < a_.query.sizes[3]; ++c) product += query_(b, h, q, c) * key_(b, h / group(), k, c);
    const double added = a_.bias ? bias_(a_.bias->sizes[0] == 1 ? 0 : b, a_.bias->sizes[1] == 1 ? 0 : h, q, k) : 0;
    return static_cast<double>(a_.scale) * product + added;
  }

  const FusedAttention& a_;
  Elements<bfloat16> query_, key_, value_, bias_{};
};

/// Compares up to the rounding of results to bf16.
void expect_rounded(const Tensor& found, const Tensor& expected) {
  const std::vector<double> wanted = expected.to_vector<double>();
  const std::vector<double> values = found.to_vector<double>();
  double largest = 0;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(values[i], wanted[i], epsilon_of(DType::bf16) * (std::abs(wanted[i]) + largest / 8)) << "element " << i;
}

struct AttentionCase {
  const char* name;
  std::int64_t queries, keys, heads, key_heads;
  bool is_causal;
  Shape mask;  ///< empty without one
};

class AttentionMapping : public ::testing::TestWithParam<AttentionCase> {
 protected:
  AttentionRule rule() const {
    const Shape scores{2, c_.heads, c_.queries, c_.keys};
    const auto seen = [&](std::int64_t b, std::int64_t h, std::int64_t q, std::int64_t k) {
      if (c_.mask[2] == 1) return k < c_.keys - 2 * b;  // padding
      return q % 5 != 1 && (q + k + b + h) % 3 != 0;    // some queries see nothing
    };
    const Tensor mask = c_.mask.rank() == 0 ? Tensor() : mask_of(c_.mask, scores, seen);
    return {.scale = 0.3F, .is_causal = c_.is_causal, .mask = mask, .dropout_rate = 0, .key = {}};
  }

  const AttentionCase& c_ = GetParam();
  const Tensor query_ = slice_of_projection({2, c_.queries, c_.heads, 8}, 1);
  const Tensor key_ = slice_of_projection({2, c_.keys, c_.key_heads, 8}, 2);
  const Tensor value_ = bf16_numbers({2, c_.keys, c_.key_heads, 16}, 3);
  const Tensor dy_ = slice_of_projection({2, c_.queries, c_.heads, 16}, 4);
};

/// What the GPU's code does around cuDNN's passes.
TEST_P(AttentionMapping, GivesTheCpusResultsAndGradients) {
  const AttentionRule of = rule();
  Tensor bias;
  Tensor first_seen;
  if (of.mask.defined()) {
    const Tensor mask = cudnn::narrow_mask(of.mask);
    bias = cudnn::empty_bias(mask);
    first_seen = Tensor::empty({mask.dim(0), mask.dim(1), mask.dim(2)}, DType::i64);
    launch(kernels::MaskBias{mask, bias, first_seen});
  }
  const FusedAttention a(of, query_, key_, value_, bias, dy_);
  const DefinedAttention defined(a, query_, key_, value_, bias);
  const Shape rows{2, c_.heads, c_.queries};
  const Tensor y = Tensor::empty(dy_.shape(), DType::bf16);
  const Tensor maximum = Tensor::empty(rows);
  const Tensor sum = Tensor::full(rows, 1);
  defined.forward(y, maximum);
  if (bias.defined())
    launch(kernels::EqualWeights{value_, first_seen.broadcast_view(rows), of.is_causal, y, maximum, sum});

  const Tensor cpu_y = Tensor::empty(y.shape(), DType::bf16);
  const Tensor cpu_maximum = Tensor::empty(rows);
  const Tensor cpu_sum = Tensor::empty(rows);
  launch(kernels::Attention{query_, key_, value_, of, cpu_y, cpu_maximum, cpu_sum});
  expect_rounded(y, cpu_y);

  const auto gradients = [&](const auto& compute) {
    std::vector<Tensor> all;
    for (const Tensor* x : {&query_, &key_, &value_}) all.push_back(Tensor::empty(x->shape(), DType::bf16));
    compute(all[0], all[1], all[2]);
    return all;
  };
  const std::vector<Tensor> found = gradients([&](const Tensor& dquery, const Tensor& dkey, const Tensor& dvalue) {
    const Tensor logs = Tensor::empty(rows);
    launch(kernels::LogSumExp{maximum, sum, logs});
    defined.gradient(y, logs, dy_, dquery, dkey, dvalue);
    launch(kernels::EqualWeightsGradient{dy_, maximum, dvalue});
  });
  const auto by_cpu = [&](const Tensor& result, const Tensor& most, const Tensor& all) {
    return gradients([&](const Tensor& dquery, const Tensor& dkey, const Tensor& dvalue) {
      launch(kernels::AttentionGradient{query_, key_, value_, of, result, most, all, dy_, dquery, dkey, dvalue});
    });
  };
  const std::vector<Tensor> expected = by_cpu(cpu_y, cpu_maximum, cpu_sum);
  const std::vector<Tensor> of_fused = by_cpu(y, maximum, sum);  // where cuDNN has the forward pass only
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i);
    expect_rounded(found[i], expected[i]);
    expect_rounded(of_fused[i], expected[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, AttentionMapping,
                         ::testing::Values(AttentionCase{"plain", 5, 7, 2, 2, false, {}},
                                           AttentionCase{"groups", 5, 7, 6, 2, false, {}},
                                           AttentionCase{"causal", 6, 6, 2, 2, true, {}},
                                           AttentionCase{"causal_more_keys", 4, 9, 2, 1, true, {}},
                                           AttentionCase{"causal_more_queries", 9, 4, 2, 1, true, {}},
                                           AttentionCase{"padding", 5, 9, 4, 2, false, {2, 1, 1, 9}},
                                           AttentionCase{"causal_padding", 9, 9, 4, 2, true, {2, 1, 1, 9}},
                                           AttentionCase{"masked_queries", 7, 9, 2, 2, false, {1, 1, 7, 9}},
                                           AttentionCase{"all", 9, 7, 4, 2, true, {2, 4, 9, 7}}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lockstep::test
