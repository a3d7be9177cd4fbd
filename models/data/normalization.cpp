#include "lockstep/models/data/normalization.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/data/device_constant.h>
#include <lockstep/runtime/data/host_context.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

bool holds_pixels(const Tensor& x) {
  return x.defined() && x.is_dense() && (x.dtype() == DType::u8 || x.dtype() == DType::f32);
}

/// For each channel the sum of term(value, channel) over all pixels.
template <class T, class Term>
std::vector<double> channel_sums(const Tensor& images, Term&& term) {
  std::vector<double> sums(static_cast<std::size_t>(images.dim(-1)), 0.0);
  const std::span<const T> values = images.span<T>();
  for (std::size_t i = 0; i < values.size(); i += sums.size())
    for (std::size_t channel = 0; channel < sums.size(); ++channel)
      sums[channel] += term(static_cast<double>(values[i + channel]), channel);
  return sums;
}

Tensor divided(const std::vector<double>& sums, double count) {
  std::vector<float> values;
  for (const double sum : sums) values.push_back(static_cast<float>(sum / count));
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

template <class T>
ChannelStatistics statistics_of(const Tensor& images) {
  std::vector<double> sums = channel_sums<T>(images, [](double value, std::size_t) { return value; });
  const double count = static_cast<double>(images.elements() / images.dim(-1));
  const auto squared_distance = [&](double value, std::size_t channel) {
    const double distance = value - sums[channel] / count;
    return distance * distance;
  };
  return {divided(sums, count), divided(channel_sums<T>(images, squared_distance), count)};
}

/// formula(value, position in the row) for each value of x, which consists of rows of `period` values.
template <class T, class Formula>
Tensor for_rows(const Tensor& x, std::int64_t period, Formula&& formula) {
  Tensor result = Tensor::empty(x.shape(), DType::f32, detail::host_context().device);
  const T* from = x.span<T>().data();
  float* to = result.data<float>();
  constexpr std::int64_t values_per_chunk = 1 << 14;
  const std::int64_t rows = x.elements() == 0 ? 0 : x.elements() / period;
  parallel_for<LoopThreads::onetbb>(rows, values_per_chunk / std::max<std::int64_t>(1, period) + 1,
                                    [&](std::int64_t begin, std::int64_t end) {
                                      for (std::int64_t row = begin; row < end; ++row)
                                        for (std::int64_t i = 0; i < period; ++i)
                                          to[row * period + i] = formula(static_cast<float>(from[row * period + i]), i);
                                    });
  return result;
}

/// Whether `shape` is x, or x without its first axis.
bool ends_with(const Shape& x, const Shape& shape) {
  const int before = x.rank() - shape.rank();
  return (before == 0 || before == 1) && std::equal(shape.begin(), shape.end(), x.begin() + before);
}

}  // namespace

ChannelStatistics channel_statistics(const Tensor& images) {
  require(holds_pixels(images) && images.rank() >= 1 && images.elements() > 0,
          "statistics of channels need images u8 or f32 of shape (.., channels), got {}", images);
  const ContextScope host(detail::host_context());
  return images.dtype() == DType::u8 ? statistics_of<std::uint8_t>(images) : statistics_of<float>(images);
}

RowTransform channel_normalization(const ChannelStatistics& statistics) {
  const auto& [mean, variance] = statistics;
  require(mean.defined() && mean.rank() == 1 && mean.dtype() == DType::f32 && variance.defined() &&
              variance.shape() == mean.shape() && variance.dtype() == DType::f32,
          "mean and variance of channels must be f32 of shape (channels), got {} and {}", mean, variance);
  constexpr float least_deviation = 1e-7F;
  std::vector<float> deviations;
  for (const float value : variance.span<float>()) deviations.push_back(std::max(std::sqrt(value), least_deviation));
  const ContextScope host(detail::host_context());
  const Tensor deviation = Tensor::from(deviations, mean.shape());
  return RowTransform([centers = DeviceConstant(mean), scales = DeviceConstant(deviation)](const Example& example) {
    const Tensor& x = example.x();
    const std::int64_t channels = centers.host().dim(0);
    require(holds_pixels(x) && x.rank() >= 1 && x.dim(-1) == channels,
            "images to normalize by channel must be u8 or f32 with {} channels last, got {}", channels, x);
    if (is_on_gpu(x)) return example.with_x((cast(x, DType::f32) - centers.here()) / scales.here());
    const float* means = centers.host().data<float>();
    const float* divisors = scales.host().data<float>();
    const auto normalized = [&](float value, std::int64_t channel) {
      return (value - means[channel]) / divisors[channel];
    };
    const bool bytes = x.dtype() == DType::u8;
    return example.with_x(bytes ? for_rows<std::uint8_t>(x, channels, normalized)
                                : for_rows<float>(x, channels, normalized));
  });
}

RowTransform rescaling(const RescalingOptions& options) {
  require(std::isfinite(options.scale) && std::isfinite(options.offset),
          "rescaling needs a scale and an offset that are finite, got {} and {}", options.scale, options.offset);
  return RowTransform([options](const Example& rows) {
    const Tensor& x = rows.x();
    require(holds_pixels(x), "values of u8 or f32 are rescaled, got {}", x);
    if (is_on_gpu(x)) return rows.with_x(cast(x, DType::f32) * options.scale + options.offset);
    const auto formula = [&](float value, std::int64_t) { return value * options.scale + options.offset; };
    return rows.with_x(x.dtype() == DType::u8 ? for_rows<std::uint8_t>(x, 1, formula) : for_rows<float>(x, 1, formula));
  });
}

RowTransform mean_subtraction(const Tensor& mean) {
  require(mean.defined() && mean.dtype() == DType::f32, "a mean image must be f32, got {}", mean);
  return RowTransform([constant = DeviceConstant(mean)](const Example& example) {
    const Tensor& x = example.x();
    const Tensor& mean = constant.host();
    require(holds_pixels(x) && ends_with(x.shape(), mean.shape()), "images {} are not of the shape of their mean {}", x,
            mean);
    constexpr float white = 255.0F;
    if (is_on_gpu(x)) {
      const Tensor pixels = x.dtype() == DType::u8 ? cast(x, DType::f32) / Tensor::full({}, white) : x;
      return example.with_x(pixels - constant.here());
    }
    const float* means = mean.span<float>().data();
    const auto from_byte = [&](float value, std::int64_t i) { return value / white - means[i]; };
    const auto from_float = [&](float value, std::int64_t i) { return value - means[i]; };
    const bool bytes = x.dtype() == DType::u8;
    return example.with_x(bytes ? for_rows<std::uint8_t>(x, mean.elements(), from_byte)
                                : for_rows<float>(x, mean.elements(), from_float));
  });
}

}  // namespace lockstep
