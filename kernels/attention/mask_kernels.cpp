#include "lockstep/kernels/attention/mask_kernels.h"

#include <cmath>

#include <lockstep/kernels/attention/attention_math.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/random/philox.h>

namespace lockstep::kernels {

namespace detail {

struct BiasOfRow {
  attention::MaskView mask;
  Index heads, queries, keys;
  bfloat16* bias;
  Index bias_stride;  ///< between rows
  std::int64_t* first;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const attention::RowPlace at(row, heads, queries);
    const auto hides = [&](Index k) { return mask.hides(at.example, at.head, at.query, k); };
    const Index seen = team.reduce(
        keys, keys, [&](Index k) { return hides(k) ? keys : k; }, [](Index a, Index b) { return b < a ? b : a; });
    team.each(keys,
              [&](Index k) { bias[row * bias_stride + k] = static_cast<bfloat16>(hides(k) ? hidden_bias : 0.0F); });
    team.once([&] { first[row] = seen; });
  }
};

struct EqualWeightsOfRow {
  attention::Heads<const bfloat16> value;
  const std::int64_t* first;
  Index first_strides[3];
  bool is_causal;
  Index heads, group, queries, keys, value_size;
  attention::Heads<bfloat16> y;
  float *maximum, *sum;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    const attention::RowPlace at(row, heads, queries);
    const Index seen = first[at.example * first_strides[0] + at.head * first_strides[1] + at.query * first_strides[2]];
    const bool sees_none = seen > (is_causal && at.query < keys ? at.query : keys - 1);
    team.each(sees_none ? value_size : 0, [&](Index column) {
      float total = 0;
      for (Index k = 0; k < keys; ++k) total += value.value(at.example, k, at.head / group, column);
      y.at(at.example, at.query, at.head, column) = static_cast<bfloat16>(total / static_cast<float>(keys));
    });
    team.once([&] {
      if (sees_none) maximum[row] = attention::hidden_score;
      sum[row] = sees_none ? static_cast<float>(keys) : 1.0F;
    });
  }
};

/// Of one column of a head of the values.
struct EqualWeightsGradientOfColumn {
  attention::Heads<const bfloat16> dy;
  const float* maximum;
  Index heads, group, queries, keys, value_size;
  attention::Heads<bfloat16> dvalue;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index i) const {
    const Index column = i % value_size;
    const Index shared_heads = heads / group;
    const Index shared_head = i / value_size % shared_heads;
    const Index example = i / value_size / shared_heads;
    const Index begin = (example * heads + shared_head * group) * queries;  // rows of the heads that share it
    const float total = team.reduce(
        group * queries, 0.0F,
        [&](Index row) {
          const attention::RowPlace at(begin + row, heads, queries);
          return maximum[begin + row] != attention::hidden_score ? 0.0F
                                                                 : dy.value(at.example, at.query, at.head, column);
        },
        [](float a, float b) { return a + b; });
    if (total == 0) return;
    team.each(keys, [&](Index k) {
      bfloat16& x = dvalue.at(example, k, shared_head, column);
      x = static_cast<bfloat16>(static_cast<float>(x) + total / static_cast<float>(keys));
    });
  }
};

struct LogSumExpOfRow {
  const float *maximum, *sum;
  float* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index row) const {
    constexpr float none = 1e30F;  // larger than all scores
    y[row] = maximum[row] == attention::hidden_score ? none : maximum[row] + std::log(sum[row]);
  }
};

struct SeedOfPart {
  RandomSequence sequence;
  std::int64_t* seeds;

  LOCKSTEP_HOST_DEVICE void operator()(Index part) const {
    const PhiloxBlock random = sequence.block(static_cast<std::uint64_t>(part));
    const std::uint64_t bits = random.word[0] | static_cast<std::uint64_t>(random.word[1]) << 32;
    seeds[4 * part] = static_cast<std::int64_t>(bits);
    for (int i = 1; i < 4; ++i) seeds[4 * part + i] = 0;
  }
};

}  // namespace detail

template <class Executor>
void MaskBias::run(Executor& on) const {
  const Index keys = mask.dim(3);
  on.teams(first.elements(), keys,
           detail::BiasOfRow{attention::MaskView(mask), mask.dim(1), mask.dim(2), keys, bias.data<bfloat16>(),
                             bias.strides()[2], first.data<std::int64_t>()});
}

template <class Executor>
void EqualWeights::run(Executor& on) const {
  const Index heads = y.dim(2);
  on.teams(maximum.elements(), y.dim(3),
           detail::EqualWeightsOfRow{attention::Heads<const bfloat16>(value),
                                     first.data<std::int64_t>(),
                                     {first.strides()[0], first.strides()[1], first.strides()[2]},
                                     is_causal,
                                     heads,
                                     heads / value.dim(2),
                                     y.dim(1),
                                     value.dim(1),
                                     y.dim(3),
                                     attention::Heads<bfloat16>(y),
                                     maximum.data<float>(),
                                     sum.data<float>()});
}

template <class Executor>
void EqualWeightsGradient::run(Executor& on) const {
  const Index heads = dy.dim(2);
  const Index shared_heads = dvalue.dim(2);
  const Index queries = dy.dim(1);
  on.teams(dvalue.dim(0) * shared_heads * dvalue.dim(3), heads / shared_heads * queries,
           detail::EqualWeightsGradientOfColumn{attention::Heads<const bfloat16>(dy), maximum.data<float>(), heads,
                                                heads / shared_heads, queries, dvalue.dim(1), dvalue.dim(3),
                                                attention::Heads<bfloat16>(dvalue)});
}

template <class Executor>
void LogSumExp::run(Executor& on) const {
  on.for_each(y.elements(), detail::LogSumExpOfRow{maximum.data<float>(), sum.data<float>(), y.data<float>()});
}

template <class Executor>
void DropoutSeeds::run(Executor& on) const {
  on.for_each(seeds.dim(0), detail::SeedOfPart{RandomSequence(key), seeds.data<std::int64_t>()});
}

LOCKSTEP_SHARED_KERNEL(MaskBias)
LOCKSTEP_SHARED_KERNEL(EqualWeights)
LOCKSTEP_SHARED_KERNEL(EqualWeightsGradient)
LOCKSTEP_SHARED_KERNEL(LogSumExp)
LOCKSTEP_SHARED_KERNEL(DropoutSeeds)

}  // namespace lockstep::kernels
