#include <algorithm>
#include <cmath>
#include <utility>

#include <lockstep/kernels/executor/parallel_strided.h>
#include <lockstep/kernels/update/norm_limits_math.h>
#include <lockstep/kernels/update/update_kernels.h>

namespace lockstep {
namespace {

constexpr std::int64_t tile = 512;  // vectors processed together: 4 KiB of f64

/// The elements of every second axis of a dense shape: their offsets in row-major order.
struct Places {
  Shape sizes;
  Shape strides;

  Places(const Shape& shape, int first) {
    const Shape all = shape.dense_strides();
    for (int axis = first; axis < shape.rank(); axis += 2) {
      sizes.push_back(shape[axis]);
      strides.push_back(all[axis]);
    }
  }
  /// If the last axis is contiguous, removes it and returns its size; otherwise returns 1.
  std::int64_t take_consecutive() {
    const int last = sizes.rank() - 1;
    if (last < 0 || strides[last] != 1) return 1;
    return std::exchange(sizes[last], 1);
  }
  std::int64_t operator[](std::int64_t i) const {
    std::int64_t place = 0;
    for (int axis = sizes.rank(); axis-- > 0; i /= sizes[axis]) place += i % sizes[axis] * strides[axis];
    return place;
  }
};

/// Limits the norms of `n` neighboring vectors. A vector has `run` contiguous elements at each of `places`. `run` or
/// `n` is 1.
void limit_some(float* x, std::int64_t n, const Places& places, std::int64_t run, const NormLimits& limits) {
  const std::int64_t count = places.sizes.elements();
  double squares[tile];
  std::fill_n(squares, n, 0.0);
  for (std::int64_t k = 0; k < count; ++k) {
    const float* const from = x + places[k];
    for (std::int64_t j = 0; j < run; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        squares[i] += static_cast<double>(from[j + i]) * static_cast<double>(from[j + i]);
  }
  float factors[tile];
  for (std::int64_t i = 0; i < n; ++i) factors[i] = static_cast<float>(norm_factor(limits, std::sqrt(squares[i])));
  for (std::int64_t k = 0; k < count; ++k) {
    float* const to = x + places[k];
    for (std::int64_t j = 0; j < run; ++j)
      for (std::int64_t i = 0; i < n; ++i) to[j + i] *= factors[i];
  }
}

}  // namespace

void kernels::LimitNorms::on_cpu() const {
  if (x.elements() == 0) return;
  Places summed(x.shape(), first);
  Places kept(x.shape(), 1 - first);
  const std::int64_t run = summed.take_consecutive();
  const std::int64_t inner = kept.take_consecutive();
  const std::int64_t tiles = (inner + tile - 1) / tile;
  const std::int64_t part = summed.sizes.elements() * run * std::min(inner, tile);
  parallel_for(kept.sizes.elements() * tiles, std::max<std::int64_t>(1, cpu::grain / part),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t column = i % tiles * tile;
                   float* const at = x.data<float>() + kept[i / tiles] + column;
                   limit_some(at, std::min(tile, inner - column), summed, run, limits);
                 }
               });
}

}  // namespace lockstep
