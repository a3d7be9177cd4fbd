// Batch normalization over rows of channels. Each pass reads memory once, in tiles of rows that stay in the first-level
// cache. Sums are kept in f32 within a tile and in f64 across tiles, so that errors do not grow with the number of
// rows.

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <lockstep/kernels/executor/real.h>
#include <lockstep/kernels/normalization/batch_norm_math.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

using cpu::store;
using cpu::value_of;
using Index = std::int64_t;

constexpr Index tile_elements = 4096;
constexpr Index chunk_elements = 16384;  ///< less is not worth waking a thread for
constexpr Index most_parts = 64;         ///< that threads sum; more cores than that do not help

/// A tensor of f32 or bf16 as rows of channels.
template <class T>
struct Rows {
  explicit Rows(const Tensor& tensor) : first(tensor.data<T>()), stride(row_stride(tensor)) {}
  T* row(Index r) const { return first + r * stride; }

  T* first;
  Index stride;
};

struct Extent {
  Index rows, channels;
  Index tile_rows() const { return std::max<Index>(4, tile_elements / std::max<Index>(1, channels)); }
  Index grain() const { return std::max<Index>(1, chunk_elements / std::max<Index>(1, channels)); }
  /// A part is summed by one thread. The shape alone decides what is in it, and so the order of additions.
  Index part_rows() const {
    const Index tiles = (rows + tile_rows() - 1) / tile_rows();
    return tile_rows() * std::max(chunk_elements / tile_elements, (tiles + most_parts - 1) / most_parts);
  }
  Index parts() const { return (rows + part_rows() - 1) / part_rows(); }
};

Extent extent_of(const Tensor& x) {
  const Index channels = x.dim(-1);
  return {channels == 0 ? 0 : x.elements() / channels, channels};
}

/// body(part, begin, end) for the rows of each part.
template <class Body>
void for_each_part(const Extent& extent, Body&& body) {
  parallel_for(extent.parts(), 1, [&](Index first, Index last) {
    for (Index part = first; part < last; ++part)
      body(part, part * extent.part_rows(), std::min(extent.rows, (part + 1) * extent.part_rows()));
  });
}

/// step.operator()<4>(row) for each four rows of [begin, end), then <1> for each one left: four rows at a time need a
/// quarter of the loads and stores of per-channel sums and coefficients.
template <class Step>
void by_fours(Index begin, Index end, Step&& step) {
  Index row = begin;
  for (; row + 4 <= end; row += 4) step.template operator()<4>(row);
  for (; row < end; ++row) step.template operator()<1>(row);
}

/// Mean and sum of squared deviations from it, by channel, of `count` rows.
struct Moments {
  explicit Moments(Index channels) : mean(channels), squares(channels) {}

  template <class T>
  void merge(Index other_count, std::span<const T> other_mean, std::span<const T> other_squares) {
    if (other_count == 0) return;
    const MomentsMerge merge(count, other_count);
    for (std::size_t k = 0; k < mean.size(); ++k) merge(mean[k], squares[k], other_mean[k], other_squares[k]);
    count += other_count;
  }

  void write(const Tensor& mean_out, const Tensor& variance_out) const {
    const double rows = static_cast<double>(std::max<Index>(1, count));
    std::transform(mean.begin(), mean.end(), mean_out.data<float>(), [](double m) { return static_cast<float>(m); });
    std::transform(squares.begin(), squares.end(), variance_out.data<float>(),
                   [&](double s) { return static_cast<float>(s / rows); });
  }

  Index count = 0;
  std::vector<double> mean, squares;
};

/// Mean of a tile first, then the deviations from it: no cancellation however large the mean is.
template <class T>
void add_tile(const Rows<T>& x, Index begin, Index end, std::vector<float>& mean, std::vector<float>& squares,
              Moments& moments) {
  const Index channels = static_cast<Index>(mean.size());
  std::fill(mean.begin(), mean.end(), 0.0F);
  std::fill(squares.begin(), squares.end(), 0.0F);
  float* const m = mean.data();
  float* const s = squares.data();
  by_fours(begin, end, [&]<int rows>(Index row) {
    const T* first = x.row(row);
#pragma omp simd
    for (Index k = 0; k < channels; ++k) {
      float sum = value_of(first[k]);
      for (int r = 1; r < rows; ++r) sum += value_of(first[r * x.stride + k]);
      m[k] += sum;
    }
  });
  const float scale = 1.0F / static_cast<float>(end - begin);
  for (float& value : mean) value *= scale;
  by_fours(begin, end, [&]<int rows>(Index row) {
    const T* first = x.row(row);
#pragma omp simd
    for (Index k = 0; k < channels; ++k) {
      float sum = 0;
      for (int r = 0; r < rows; ++r) {
        const float deviation = value_of(first[r * x.stride + k]) - m[k];
        sum += deviation * deviation;
      }
      s[k] += sum;
    }
  });
  moments.merge<float>(end - begin, mean, squares);
}

/// Coefficients of each channel: z = (x - mean) * scale + beta, where scale = gamma / sqrt(variance + epsilon).
struct Coefficients {
  Coefficients(const Tensor& gamma, const Tensor& beta_of, const Tensor& mean_of, const Tensor& variance, float epsilon)
      : mean(mean_of.data<float>()), beta(beta_of.data<float>()) {
    const float* const variances = variance.data<float>();
    const float* const gammas = gamma.data<float>();
    for (Index k = 0; k < gamma.elements(); ++k) {
      inverse.push_back(inverse_deviation(variances[k], epsilon));
      scale.push_back(gammas[k] * inverse.back());
    }
  }

  const float* mean;
  const float* beta;
  std::vector<float> inverse;  ///< 1 / sqrt(variance + epsilon)
  std::vector<float> scale;
};

/// `residual` is not read unless `adds`.
template <bool relu, bool adds, class T>
void normalize(const Rows<T>& x, const Rows<T>& residual, const Rows<T>& y, Index begin, Index end, Index channels,
               const Coefficients& coefficients) {
  const float* const mean = coefficients.mean;
  const float* const scale = coefficients.scale.data();
  const float* const beta = coefficients.beta;
  by_fours(begin, end, [&]<int rows>(Index row) {
    const T* from = x.row(row);
    const T* added = residual.row(row);
    T* to = y.row(row);
#pragma omp simd
    for (Index k = 0; k < channels; ++k)
      for (int r = 0; r < rows; ++r) {
        float z = normalized<false>(value_of(from[r * x.stride + k]) - mean[k], scale[k], beta[k]);
        if constexpr (adds) z += value_of(added[r * residual.stride + k]);
        store(to[r * y.stride + k], rectified<relu>(z));
      }
  });
}

/// Sums over rows of g and of g * (x - mean), where g is dy, or 0 where the ReLU was not active.
struct GradientSums {
  explicit GradientSums(Index channels) : g(channels), g_deviation(channels) {}
  std::vector<double> g, g_deviation;

  template <class T>
  void add(const std::vector<T>& other_g, const std::vector<T>& other_g_deviation) {
    for (std::size_t k = 0; k < g.size(); ++k) {
      g[k] += other_g[k];
      g_deviation[k] += other_g_deviation[k];
    }
  }
};

/// The rows from which the gradient is computed. If a ReLU follows the addition of a residual, `y` is the ReLU's
/// result, and the gradient with respect to the ReLU's input is written to `dsum`.
template <class T>
struct GradientRows {
  Rows<T> x, dy;
  std::optional<Rows<T>> y{}, dsum{};
};

/// The sums of a tile's rows.
struct TileSums {
  explicit TileSums(Index channels) : g(channels), g_deviation(channels) {}
  void clear() {
    std::fill(g.begin(), g.end(), 0.0F);
    std::fill(g_deviation.begin(), g_deviation.end(), 0.0F);
  }
  std::vector<float> g, g_deviation;
};

template <bool relu, class T>
void add_tile(const GradientRows<T>& from, Index begin, Index end, const Coefficients& coefficients, TileSums& tile) {
  const Index channels = static_cast<Index>(tile.g.size());
  const float* const mean = coefficients.mean;
  const float* const scale = coefficients.scale.data();
  const float* const beta = coefficients.beta;
  float* const sum_g = tile.g.data();
  float* const sum_g_deviation = tile.g_deviation.data();
  by_fours(begin, end, [&]<int rows>(Index row) {
    const T* const x = from.x.row(row);
    const T* const dy = from.dy.row(row);
#pragma omp simd
    for (Index k = 0; k < channels; ++k) {
      float total = 0;
      float total_deviation = 0;
      for (int r = 0; r < rows; ++r) {
        const float deviation = value_of(x[r * from.x.stride + k]) - mean[k];
        const float g = active<relu>(deviation, scale[k], beta[k], value_of(dy[r * from.dy.stride + k]));
        total += g;
        total_deviation += g * deviation;
      }
      sum_g[k] += total;
      sum_g_deviation[k] += total_deviation;
    }
  });
}

template <class T>
void add_tile_of_residual(const GradientRows<T>& from, Index begin, Index end, const Coefficients& coefficients,
                          TileSums& tile) {
  const Index channels = static_cast<Index>(tile.g.size());
  const float* const mean = coefficients.mean;
  float* const sum_g = tile.g.data();
  float* const sum_g_deviation = tile.g_deviation.data();
  by_fours(begin, end, [&]<int rows>(Index row) {
    const T* const x = from.x.row(row);
    const T* const dy = from.dy.row(row);
    const T* const y = from.y->row(row);
    T* const dsum = from.dsum->row(row);
#pragma omp simd
    for (Index k = 0; k < channels; ++k) {
      float total = 0;
      float total_deviation = 0;
      for (int r = 0; r < rows; ++r) {
        const float g = active_by_result(value_of(y[r * from.y->stride + k]), value_of(dy[r * from.dy.stride + k]));
        store(dsum[r * from.dsum->stride + k], g);
        total += g;
        total_deviation += g * (value_of(x[r * from.x.stride + k]) - mean[k]);
      }
      sum_g[k] += total;
      sum_g_deviation[k] += total_deviation;
    }
  });
}

template <bool relu, class T>
GradientSums gradient_sums(const GradientRows<T>& from, const Extent& extent, const Coefficients& coefficients) {
  std::vector<GradientSums> partial(extent.parts(), GradientSums(extent.channels));
  for_each_part(extent, [&](Index part, Index begin, Index end) {
    TileSums tile(extent.channels);
    for (Index row = begin; row < end; row += extent.tile_rows()) {
      tile.clear();
      const Index tile_end = std::min(end, row + extent.tile_rows());
      if (from.dsum)
        add_tile_of_residual(from, row, tile_end, coefficients, tile);
      else
        add_tile<relu>(from, row, tile_end, coefficients, tile);
      partial[part].add(tile.g, tile.g_deviation);
    }
  });
  GradientSums total(extent.channels);
  for (const GradientSums& sums : partial) total.add(sums.g, sums.g_deviation);
  return total;
}

template <bool relu, class T>
void write_gradient(const Rows<T>& x, const Rows<T>& dy, const Rows<T>& dx, const Extent& extent,
                    const Coefficients& coefficients, const std::vector<float>& offsets,
                    const std::vector<float>& slopes) {
  const float* const mean = coefficients.mean;
  const float* const scale = coefficients.scale.data();
  const float* const beta = coefficients.beta;
  const float* const offset = offsets.data();
  const float* const slope = slopes.data();
  parallel_for(extent.rows, extent.grain(), [&](Index begin, Index end) {
    by_fours(begin, end, [&]<int rows>(Index row) {
      const T* from = x.row(row);
      const T* gradient = dy.row(row);
      T* to = dx.row(row);
#pragma omp simd
      for (Index k = 0; k < extent.channels; ++k)
        for (int r = 0; r < rows; ++r) {
          const float deviation = value_of(from[r * x.stride + k]) - mean[k];
          const float g = active<relu>(deviation, scale[k], beta[k], value_of(gradient[r * dy.stride + k]));
          store(to[r * dx.stride + k], MomentsGradient(offset[k], slope[k])(scale[k], g, deviation));
        }
    });
  });
}

template <class T>
Moments moments_of(const Rows<T>& rows, const Extent& extent) {
  std::vector<Moments> partial(extent.parts(), Moments(extent.channels));
  for_each_part(extent, [&](Index part, Index begin, Index end) {
    std::vector<float> tile_mean(extent.channels), tile_squares(extent.channels);
    for (Index row = begin; row < end; row += extent.tile_rows())
      add_tile(rows, row, std::min(end, row + extent.tile_rows()), tile_mean, tile_squares, partial[part]);
  });
  Moments total(extent.channels);
  for (const Moments& moments : partial) total.merge<double>(moments.count, moments.mean, moments.squares);
  return total;
}

}  // namespace

void kernels::ChannelMoments::on_cpu() const {
  visit_real(x.dtype(), [&]<class T>() { moments_of(Rows<T>(x), extent_of(x)).write(mean, variance); });
}

void kernels::MergeMoments::on_cpu() const {
  const auto channels = static_cast<std::size_t>(mean.elements());
  Moments total(mean.elements());
  std::vector<float> squares(channels);
  for (Index part = 0; part < parts.dim(0); ++part) {
    const std::span<const float> row(parts.data<float>() + part * parts.dim(1), 2 * channels + 1);
    const float count = row.back();
    const std::span<const float> variances = row.subspan(channels, channels);
    std::ranges::transform(variances, squares.begin(), [=](float v) { return v * count; });
    total.merge<float>(static_cast<Index>(count), row.first(channels), squares);
  }
  total.write(mean, variance);
}

void kernels::BatchNorm::on_cpu() const {
  const Extent extent = extent_of(x);
  const Coefficients coefficients(gamma, beta, mean, variance, epsilon);
  visit_real(x.dtype(), [&]<class T>() {
    const bool adds = residual.defined();
    const auto pass = relu ? (adds ? normalize<true, true, T> : normalize<true, false, T>)
                           : (adds ? normalize<false, true, T> : normalize<false, false, T>);
    const Rows<T> added(adds ? residual : x);
    parallel_for(extent.rows, extent.grain(), [&](Index begin, Index end) {
      pass(Rows<T>(x), added, Rows<T>(y), begin, end, extent.channels, coefficients);
    });
  });
}

void kernels::BatchNormGradientSums::on_cpu() const {
  const Coefficients coefficients(gamma, beta, mean, variance, epsilon);
  const GradientSums sums = visit_real(x.dtype(), [&]<class T>() {
    GradientRows<T> from{Rows<T>(x), Rows<T>(dy)};
    if (dsum.defined()) {
      from.y.emplace(y);
      from.dsum.emplace(dsum);
    }
    const auto pass = relu ? gradient_sums<true, T> : gradient_sums<false, T>;
    return pass(from, extent_of(x), coefficients);
  });
  std::transform(sums.g_deviation.begin(), sums.g_deviation.end(), coefficients.inverse.begin(), dgamma.data<float>(),
                 [](double sum, float inverse) { return static_cast<float>(sum * inverse); });
  std::transform(sums.g.begin(), sums.g.end(), dbeta.data<float>(), [](double sum) { return static_cast<float>(sum); });
}

void kernels::BatchNormGradientX::on_cpu() const {
  const Coefficients coefficients(gamma, beta, mean, variance, epsilon);
  const Extent extent = extent_of(x);
  std::vector<float> offsets(extent.channels), slopes(extent.channels);
  for (Index k = 0; count > 0 && k < extent.channels; ++k) {
    const MomentsGradient gradient(coefficients.scale[k], coefficients.inverse[k], dgamma.data<float>()[k],
                                   dbeta.data<float>()[k], count);
    offsets[k] = gradient.offset;
    slopes[k] = gradient.slope;
  }
  visit_real(x.dtype(), [&]<class T>() {
    const auto pass = relu ? write_gradient<true, T> : write_gradient<false, T>;
    pass(Rows<T>(x), Rows<T>(dy), Rows<T>(dx), extent, coefficients, offsets, slopes);
  });
}

}  // namespace lockstep
