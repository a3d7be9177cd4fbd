#pragma once

#include <lockstep/kernels/common/batch_norm.h>
#include <lockstep/kernels/grid/channels.h>
#include <lockstep/kernels/grid/middle_axis.h>

// Mean and variance of channels.

namespace lockstep::grid {

namespace detail {

/// Sums of distances from the first row, and of their squares. The first row is no further from the mean than
/// sqrt(rows) standard deviations, so that in f64 little is lost by cancellation, however large the mean is.
template <class T>
struct ChannelMoments : SumOf<TwoSums> {
  Rows<T> x;
  Index rows;
  float* mean;
  float* variance;

  LOCKSTEP_HOST_DEVICE TwoSums load(Index, Index row, Index k) const {
    const double distance = value(row, k) - value(0, k);
    return {distance, distance * distance};
  }
  LOCKSTEP_HOST_DEVICE void finish(Index, Index k, const TwoSums& sums) const {
    if (rows == 0) {
      mean[k] = 0;
      variance[k] = 0;
      return;
    }
    const double share = 1.0 / static_cast<double>(rows);
    const double distance = sums.first * share;
    const double spread = sums.second * share - distance * distance;
    mean[k] = static_cast<float>(value(0, k) + distance);
    variance[k] = static_cast<float>(spread < 0 ? 0 : spread);
  }
  LOCKSTEP_HOST_DEVICE double value(Index row, Index k) const { return static_cast<float>(*x.at(row, k)); }
};

/// One channel of all parts.
struct MergedMoments {
  const float* parts;
  Index part_count, channels;
  float* mean;
  float* variance;

  LOCKSTEP_HOST_DEVICE void operator()(Index k) const {
    std::int64_t rows = 0;
    double merged = 0;
    double squares = 0;
    for (Index part = 0; part < part_count; ++part) {
      const float* const row = parts + part * (2 * channels + 1);
      const float count = row[2 * channels];
      if (count < 1) continue;
      MomentsMerge(rows, static_cast<std::int64_t>(count))(merged, squares, row[k], row[channels + k] * count);
      rows += static_cast<std::int64_t>(count);
    }
    mean[k] = static_cast<float>(merged);
    variance[k] = static_cast<float>(squares / static_cast<double>(rows < 1 ? 1 : rows));
  }
};

}  // namespace detail

template <class Executor>
void channel_moments(Executor& on, const Tensor& x, const Tensor& mean, const Tensor& variance) {
  const Index rows = detail::row_count(x);
  visit_real(x.dtype(), [&]<class T>() {
    const detail::ChannelMoments<T> f{{}, detail::Rows<T>(x), rows, mean.data<float>(), variance.data<float>()};
    reduce_middle(on, 1, rows, mean.elements(), f);
  });
}

template <class Executor>
void merge_moments(Executor& on, const Tensor& parts, const Tensor& mean, const Tensor& variance) {
  on.for_each(mean.elements(), detail::MergedMoments{parts.data<float>(), parts.dim(0), mean.elements(),
                                                     mean.data<float>(), variance.data<float>()});
}

}  // namespace lockstep::grid
