#include <algorithm>

#include <lockstep/kernels/attention/attention_kernels.h>

#include "kernels_bench.h"

namespace lockstep {
namespace {

struct AttentionSizes {
  std::int64_t examples, time, heads, size;
  bool is_causal = false;
};

/// Attention of a sequence to itself, with heads of the layout of a Dense layer's result. Verifies the last query's
/// result in double precision, and two sums that gradients must have.
struct SelfAttention {
  Tensor query, key, value, y, maximum, sum, dy, dquery, dkey, dvalue;
  kernels::AttentionRule rule;

  explicit SelfAttention(const AttentionSizes& s)
      : query(uniform({s.examples, s.time, s.heads, s.size}, 1)),
        key(uniform(query.shape(), 2)),
        value(uniform(query.shape(), 3)),
        y(Tensor::empty(query.shape())),
        maximum(Tensor::empty({s.examples, s.heads, s.time})),
        sum(Tensor::empty(maximum.shape())),
        dy(uniform(query.shape(), 4)),
        dquery(Tensor::empty(query.shape())),
        dkey(Tensor::empty(query.shape())),
        dvalue(Tensor::empty(query.shape())),
        rule{.scale = 1.0F / std::sqrt(static_cast<float>(s.size)),
             .is_causal = s.is_causal,
             .mask = {},
             .dropout_rate = 0,
             .key = {}} {
    forward();
    gradient();
    verify_element("attention", y.data<float>()[y.elements() - 1], last_element(s));
    verify(inner_product(dvalue, value), inner_product(dy, y), dvalue, value);  // the result is linear in the values
    verify(inner_product(dquery, query), inner_product(dkey, key), dkey, key);  // scores are products of both
  }

  void forward() const { kernels::run_on_cpu(kernels::Attention{query, key, value, rule, y, maximum, sum}); }
  void gradient() const {
    kernels::run_on_cpu(kernels::AttentionGradient{query, key, value, rule, y, maximum, sum, dy, dquery, dkey, dvalue});
  }

 private:
  double last_element(const AttentionSizes& s) const {
    const std::int64_t row = s.heads * s.size;
    const auto last_head = [&](const Tensor& x, std::int64_t time) {
      return x.data<float>() + x.elements() - s.size - (s.time - 1 - time) * row;
    };
    double weights = 0;
    double result = 0;
    for (std::int64_t time = 0; time < s.time; ++time) {
      double score = 0;
      for (std::int64_t k = 0; k < s.size; ++k)
        score += static_cast<double>(last_head(query, s.time - 1)[k]) * static_cast<double>(last_head(key, time)[k]);
      const double weight = std::exp(score * static_cast<double>(rule.scale));
      weights += weight;
      result += weight * static_cast<double>(last_head(value, time)[s.size - 1]);
    }
    return result / weights;
  }
};

void add_attention(const AttentionSizes& s) {
  const std::string size = std::to_string(s.examples) + "x" + std::to_string(s.time) + "x" + std::to_string(s.heads) +
                           "x" + std::to_string(s.size) + (s.is_causal ? "_causal" : "");
  // Operations of the products of all queries with all keys, for all heads; causal attention needs half of these
  // products.
  const double product =
      2.0 * static_cast<double>(s.examples * s.heads * s.time * s.time * s.size) / (s.is_causal ? 2 : 1);
  benchmark::RegisterBenchmark(("attention/forward/" + size).c_str(), [=](benchmark::State& state) {
    const SelfAttention attention(s);
    time_flops(state, 2 * product, [&] { attention.forward(); });
  });
  benchmark::RegisterBenchmark(("attention/gradient/" + size).c_str(), [=](benchmark::State& state) {
    const SelfAttention attention(s);
    time_flops(state, 5 * product, [&] { attention.gradient(); });
  });
}

}  // namespace

void add_attentions() {
  add_attention({8, 128, 8, 64});
  add_attention({4, 512, 8, 64});
  add_attention({1, 2048, 8, 64, true});
}

}  // namespace lockstep
