// Group normalization of channels-last data: loops over places are vectorized over channels. A thread takes an example,
// or a range of its groups if there are many channels, and finds the sums of each channel first, then those of each
// group. Any number of threads gives the same bits.

#include <algorithm>
#include <vector>

#include <lockstep/kernels/executor/real.h>
#include <lockstep/kernels/normalization/group_norm_kernels.h>
#include <lockstep/kernels/normalization/layer_norm_math.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

using cpu::value_of;
using Index = std::int64_t;

constexpr Index block_places = 64;  ///< places whose sums are f32

/// The sizes of x (n, places, channels).
struct GroupSizes {
  Index examples, places, channels, groups, width;
  Index range_groups, ranges;

  GroupSizes(const Tensor& x, const Tensor& mean)
      : examples(x.dim(0)),
        places(x.dim(1)),
        channels(x.dim(2)),
        groups(mean.dim(1)),
        width(channels / groups),
        range_groups(groups_of_range()),
        ranges((groups + range_groups - 1) / range_groups) {}

  double elements() const { return static_cast<double>(places * width); }

 private:
  /// As few as give each thread a range, but not so few that the loops over channels become short.
  Index groups_of_range() const {
    const auto with_channels = [&](Index count) { return (count + width - 1) / width; };
    return std::min(groups, std::clamp(groups * examples / compute_threads(), with_channels(16), with_channels(256)));
  }
};

/// Neighboring groups of an example. Pointers are to its first place.
struct GroupRange {
  Index example, first_group, group_count;
  Index first_channel, channel_count;
  Index offset;  ///< of the first element
};

template <class F>
void for_each_range(const GroupSizes& s, const F& f) {
  const Index work = s.places * std::min(s.channels, s.range_groups * s.width);
  parallel_for(s.examples * s.ranges, std::max<Index>(1, 8192 / std::max<Index>(1, work)), [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index first = i % s.ranges * s.range_groups;
      const Index count = std::min(s.range_groups, s.groups - first);
      f(GroupRange{.example = i / s.ranges,
                   .first_group = first,
                   .group_count = count,
                   .first_channel = first * s.width,
                   .channel_count = count * s.width,
                   .offset = i / s.ranges * s.places * s.channels + first * s.width});
    }
  });
}

/// Adds term(place, channel) over all places to sums[channel]: up to block_places terms in f32, their sums in f64.
/// `block` holds the f32 sums. `term` is passed by value, so that what it points to is known not to change.
template <class Term>
void add_over_places(const GroupSizes& s, Index channels, Term term, float* block, double* sums) {
  for (Index first = 0; first < s.places; first += block_places) {
    std::fill_n(block, channels, 0.0F);
    const Index end = std::min(s.places, first + block_places);
    Index place = first;
    for (; place + 8 <= end; place += 8) {  // fewer reads and writes of the block
#pragma omp simd
      for (Index k = 0; k < channels; ++k) {
        float sum = 0;
        for (Index i = place; i < place + 8; ++i) sum += term(i * s.channels + k, k);
        block[k] += sum;
      }
    }
    for (; place < end; ++place) {
#pragma omp simd
      for (Index k = 0; k < channels; ++k) block[k] += term(place * s.channels + k, k);
    }
    for (Index k = 0; k < channels; ++k) sums[k] += static_cast<double>(block[k]);
  }
}

/// The sum over the channels of group `group` of a range.
double group_sum(const GroupSizes& s, const std::vector<double>& sums, Index group) {
  double sum = 0;
  for (Index k = group * s.width; k < (group + 1) * s.width; ++k) sum += sums[static_cast<std::size_t>(k)];
  return sum;
}

/// Numbers of each channel of a range.
struct PerChannel {
  std::vector<float> a, b, block;
  std::vector<double> sums;

  explicit PerChannel(Index channels) {
    const auto n = static_cast<std::size_t>(channels);
    for (std::vector<float>* const values : {&a, &b, &block}) values->resize(n);
    sums.resize(n);
  }
  void clear() { std::fill(sums.begin(), sums.end(), 0.0); }
};

/// Sets to[channel] = values[group of the channel].
void spread(const GroupSizes& s, const GroupRange& r, const float* values, std::vector<float>& to) {
  for (Index group = 0; group < r.group_count; ++group)
    std::fill_n(to.begin() + group * s.width, s.width, values[group]);
}

float median(float a, float b, float c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

template <class T>
void normalize(const kernels::GroupNorm& kernel, const GroupSizes& s, const GroupRange& r) {
  PerChannel of(r.channel_count);
  const T* const x = kernel.x.data<T>() + r.offset;
  float* const means = kernel.mean.data<float>() + r.example * s.groups + r.first_group;
  float* const inverses = kernel.inverse.data<float>() + r.example * s.groups + r.first_group;
  // Distances to a typical value, so that f32 sums are exact enough however large the mean is.
  float* const typical = of.b.data();
  for (Index k = 0; k < r.channel_count; ++k)
    typical[k] = median(value_of(x[k]), value_of(x[s.places / 2 * s.channels + k]),
                        value_of(x[(s.places - 1) * s.channels + k]));
  const auto distance = [x, typical](Index at, Index k) { return value_of(x[at]) - typical[k]; };
  add_over_places(s, r.channel_count, distance, of.block.data(), of.sums.data());
  for (Index k = 0; k < r.channel_count; ++k)
    of.sums[static_cast<std::size_t>(k)] += static_cast<double>(typical[k]) * static_cast<double>(s.places);
  for (Index group = 0; group < r.group_count; ++group)
    means[group] = static_cast<float>(group_sum(s, of.sums, group) / s.elements());
  spread(s, r, means, of.a);
  of.clear();
  const auto square = [x, mean = of.a.data()](Index at, Index k) {
    return (value_of(x[at]) - mean[k]) * (value_of(x[at]) - mean[k]);
  };
  add_over_places(s, r.channel_count, square, of.block.data(), of.sums.data());
  for (Index group = 0; group < r.group_count; ++group) {
    const auto squares = static_cast<float>(group_sum(s, of.sums, group));
    inverses[group] = RowMoments::of(means[group], squares, static_cast<float>(s.elements()), kernel.epsilon).inverse;
  }
  spread(s, r, inverses, of.b);
  const float* const mean = of.a.data();
  const float* const inverse = of.b.data();
  const float* const gamma = kernel.gamma.data<float>() + r.first_channel;
  const float* const beta = kernel.beta.data<float>() + r.first_channel;
  T* const y = kernel.y.data<T>() + r.offset;
  for (Index row = 0; row < s.places * s.channels; row += s.channels) {
#pragma omp simd
    for (Index k = 0; k < r.channel_count; ++k)
      cpu::store(y[row + k], RowMoments{mean[k], inverse[k]}(value_of(x[row + k])) * gamma[k] + beta[k]);
  }
}

/// Writes an example's sums of dy * z, z being the normalized x, and of dy (2, channels) to `sums`.
template <class T>
void differentiate(const kernels::GroupNormGradient& kernel, const GroupSizes& s, const GroupRange& r,
                   const Tensor& sums) {
  PerChannel of(r.channel_count);
  const T* const x = kernel.x.data<T>() + r.offset;
  const T* const dy = kernel.dy.data<T>() + r.offset;
  const float* const gamma = kernel.gamma.data<float>() + r.first_channel;
  spread(s, r, kernel.mean.data<float>() + r.example * s.groups + r.first_group, of.a);
  spread(s, r, kernel.inverse.data<float>() + r.example * s.groups + r.first_group, of.b);
  const float* const mean = of.a.data();
  const float* const inverse = of.b.data();
  float* const of_gamma = sums.data<float>() + r.example * 2 * s.channels + r.first_channel;
  float* const of_beta = of_gamma + s.channels;
  const auto write_sums = [&](float* to) {
    std::transform(of.sums.begin(), of.sums.end(), to, [](double sum) { return static_cast<float>(sum); });
    for (Index k = 0; k < r.channel_count; ++k) of.sums[static_cast<std::size_t>(k)] *= static_cast<double>(gamma[k]);
  };
  std::vector<float> mean_g(of.a.size()), mean_gz(of.a.size()), values(static_cast<std::size_t>(r.group_count));
  const auto write_means = [&](std::vector<float>& to) {
    for (Index group = 0; group < r.group_count; ++group)
      values[static_cast<std::size_t>(group)] = static_cast<float>(group_sum(s, of.sums, group) / s.elements());
    spread(s, r, values.data(), to);
    of.clear();
  };
  add_over_places(
      s, r.channel_count, [dy](Index at, Index) { return value_of(dy[at]); }, of.block.data(), of.sums.data());
  write_sums(of_beta);
  write_means(mean_g);
  const auto product = [x, dy, mean, inverse](Index at, Index k) {
    return value_of(dy[at]) * RowMoments{mean[k], inverse[k]}(value_of(x[at]));
  };
  add_over_places(s, r.channel_count, product, of.block.data(), of.sums.data());
  write_sums(of_gamma);
  write_means(mean_gz);
  if (!kernel.dx.defined()) return;
  T* const dx = kernel.dx.data<T>() + r.offset;
  for (Index row = 0; row < s.places * s.channels; row += s.channels) {
#pragma omp simd
    for (Index k = 0; k < r.channel_count; ++k) {
      const RowMoments moments{mean[k], inverse[k]};
      cpu::store(dx[row + k],
                 moments.gradient(value_of(dy[row + k]) * gamma[k], moments(value_of(x[row + k])),
                                  mean_g[static_cast<std::size_t>(k)], mean_gz[static_cast<std::size_t>(k)]));
    }
  }
}

}  // namespace

void kernels::GroupNorm::on_cpu() const {
  if (y.elements() == 0) return;
  const GroupSizes s(x, mean);
  visit_real(x.dtype(), [&]<class T>() { for_each_range(s, [&](const GroupRange& r) { normalize<T>(*this, s, r); }); });
}

void kernels::GroupNormGradient::on_cpu() const {
  const GroupSizes s(x, mean);
  const Tensor sums = Tensor::empty({s.examples, 2 * s.channels});
  visit_real(x.dtype(),
             [&]<class T>() { for_each_range(s, [&](const GroupRange& r) { differentiate<T>(*this, s, r, sums); }); });
  const Tensor total = Tensor::empty({1, 2 * s.channels});
  kernels::SumMiddle{sums.view({1, s.examples, 2 * s.channels}), total}.on_cpu();
  std::copy_n(total.data<float>(), s.channels, dgamma.data<float>());
  std::copy_n(total.data<float>() + s.channels, s.channels, dbeta.data<float>());
}

}  // namespace lockstep
