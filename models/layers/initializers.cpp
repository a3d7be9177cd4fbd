#include "lockstep/models/layers/initializers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <lockstep/kernels/random/normal_rule.h>
#include <lockstep/kernels/random/philox.h>
#include <lockstep/models/layers/initializer_objects.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr std::int64_t block_size = 4;            // numbers in a Philox block
constexpr std::int64_t blocks_per_chunk = 16384;  // makes up for the cost of starting a thread

/// Uniform in [-limit, limit). Uses the upper 24 bits of a word, as many as an f32 between 0.5 and 1 can hold.
float symmetric(std::uint32_t word, float limit) {
  const float unit = static_cast<float>(word >> 8) * 0x1p-24F;
  return (2.0F * unit - 1.0F) * limit;
}

/// out[i] = draw(block i / 4 of the sequence, i % 4).
template <class Draw>
void draw_by_block(const RandomKey& key, const Tensor& values, const Draw& draw) {
  const RandomSequence sequence(key);
  const std::span<float> out = values.span<float>();
  const auto count = static_cast<std::int64_t>(out.size());
  parallel_for((count + block_size - 1) / block_size, blocks_per_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const PhiloxBlock random = sequence.block(static_cast<std::uint64_t>(block));
      const std::int64_t first = block * block_size;
      const std::int64_t used = std::min(block_size, count - first);
      for (std::int64_t i = 0; i < used; ++i) out[first + i] = draw(random, static_cast<std::size_t>(i));
    }
  });
}

Initializer draw_uniform(const RandomKey& key, float center, float limit) {
  return [=](const Tensor& values) {
    draw_by_block(key, values,
                  [=](const PhiloxBlock& random, std::size_t i) { return center + symmetric(random.word[i], limit); });
  };
}

Initializer draw_normal(const RandomKey& key, double mean, double stddev) {
  return [=](const Tensor& values) {
    draw_by_block(key, values, [=](const PhiloxBlock& random, std::size_t i) {
      return static_cast<float>(mean + stddev * standard_normal(random, static_cast<int>(i)));
    });
  };
}

Initializer draw_truncated_normal(const RandomKey& key, double mean, double stddev) {
  return [=](const Tensor& values) {
    const RandomSequence sequence(key);
    const std::span<float> out = values.span<float>();
    parallel_for(static_cast<std::int64_t>(out.size()), blocks_per_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        out[i] = static_cast<float>(mean + stddev * normal_within_two(sequence, static_cast<std::uint64_t>(i)));
    });
  };
}

/// The fan for `mode`, at least 1, as in keras.src.initializers.random_initializers.compute_fans.
double fan_of(const Shape& shape, FanMode mode) {
  double window = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) window *= static_cast<double>(shape[axis]);
  const double in = shape.rank() == 0 ? 1 : window * static_cast<double>(shape.dim(shape.rank() == 1 ? 0 : -2));
  const double out = shape.rank() == 0 ? 1 : window * static_cast<double>(shape.dim(-1));
  return std::max(1.0, mode == FanMode::fan_in ? in : mode == FanMode::fan_out ? out : (in + out) / 2);
}

Initializer scaled(const VarianceScalingOptions& options, const RandomKey& key) {
  return [options, key](const Tensor& values) {
    const double variance = options.scale / fan_of(values.shape(), options.mode);
    switch (options.distribution) {
      case Distribution::truncated_normal:
        // The standard deviation of a standard normal distribution truncated to (-2, 2).
        return draw_truncated_normal(key, 0, std::sqrt(variance) / .87962566103423978)(values);
      case Distribution::untruncated_normal:
        return draw_normal(key, 0, std::sqrt(variance))(values);
      case Distribution::uniform:
        return draw_uniform(key, 0, static_cast<float>(std::sqrt(3 * variance)))(values);
    }
  };
}

/// A matrix with rows >= count, stored by columns.
struct Columns {
  std::int64_t rows = 0;
  std::int64_t count = 0;
  std::vector<double> values{};

  double* operator[](std::int64_t column) { return values.data() + column * rows; }
};

/// A matrix of standard normal elements.
Columns gaussian(const RandomKey& key, std::int64_t rows, std::int64_t count) {
  Columns matrix{.rows = rows, .count = count};
  matrix.values.resize(static_cast<std::size_t>(rows * count));
  const RandomSequence sequence(key);
  for (std::size_t i = 0; i < matrix.values.size(); ++i)
    matrix.values[i] = standard_normal(sequence.block(i / block_size), static_cast<int>(i % block_size));
  return matrix;
}

double dot(const double* a, const double* b, std::int64_t n) { return std::inner_product(a, a + n, b, 0.0); }

/// column -= 2 (v, column) v, for a v of length 1.
void reflect(const double* v, double* column, std::int64_t n) {
  const double twice = 2 * dot(v, column, n);
  for (std::int64_t i = 0; i < n; ++i) column[i] -= twice * v[i];
}

/// Replaces `column`, the part of a column from the diagonal on, by the vector of the reflection that maps it to a
/// multiple of the unit vector. Returns the multiple, which is R's diagonal element. The matrix has full rank with
/// probability 1.
double make_reflection(double* column, std::int64_t n) {
  const double diagonal = -std::copysign(std::sqrt(dot(column, column, n)), column[0]);
  column[0] -= diagonal;
  const double length = std::sqrt(dot(column, column, n));
  for (std::int64_t i = 0; i < n; ++i) column[i] /= length;
  return diagonal;
}

/// Q of matrix = Q R with a positive diagonal of R, by Householder reflections (Golub and Van Loan, 5.2).
Columns orthonormal_columns(Columns matrix) {
  const std::int64_t columns_per_chunk =
      std::max<std::int64_t>(1, blocks_per_chunk / std::max<std::int64_t>(1, matrix.rows));
  std::vector<double> diagonal;
  for (std::int64_t k = 0; k < matrix.count; ++k) {
    diagonal.push_back(make_reflection(matrix[k] + k, matrix.rows - k));
    parallel_for(matrix.count - k - 1, columns_per_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) reflect(matrix[k] + k, matrix[k + 1 + j] + k, matrix.rows - k);
    });
  }
  // Q is the product of all reflections applied to the unit matrix, the last reflection first.
  Columns q{.rows = matrix.rows, .count = matrix.count};
  q.values.assign(matrix.values.size(), 0.0);
  parallel_for(q.count, columns_per_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      q[j][j] = diagonal[static_cast<std::size_t>(j)] < 0 ? -1 : 1;
      for (std::int64_t k = j; k >= 0; --k) reflect(matrix[k] + k, q[j] + k, matrix.rows - k);
    }
  });
  return q;
}

}  // namespace

SeededInitializer variance_scaling(const VarianceScalingOptions& options) {
  require(std::isfinite(options.scale) && options.scale > 0, "variance_scaling needs a finite scale above 0, got {}",
          options.scale);
  return detail::VarianceScaling{options};
}

Initializer glorot_uniform(const RandomKey& key) {
  return scaled({.mode = FanMode::fan_avg, .distribution = Distribution::uniform}, key);
}
Initializer glorot_normal(const RandomKey& key) { return scaled({.mode = FanMode::fan_avg}, key); }
Initializer he_uniform(const RandomKey& key) {
  return scaled({.scale = 2, .distribution = Distribution::uniform}, key);
}
Initializer he_normal(const RandomKey& key) { return scaled({.scale = 2}, key); }
Initializer lecun_uniform(const RandomKey& key) { return scaled({.distribution = Distribution::uniform}, key); }
Initializer lecun_normal(const RandomKey& key) { return scaled({}, key); }

SeededInitializer random_normal(const NormalOptions& options) { return detail::RandomNormal{options}; }

SeededInitializer truncated_normal(const NormalOptions& options) { return detail::TruncatedNormal{options}; }

SeededInitializer random_uniform(const UniformOptions& options) { return detail::RandomUniform{options}; }

SeededInitializer orthogonal(const OrthogonalOptions& options) { return detail::Orthogonal{options}; }

SeededInitializer constant(double value) { return detail::Constant{value}; }

Initializer zeros(const RandomKey& key) { return detail::Constant{0}(key); }

Initializer ones(const RandomKey& key) { return detail::Constant{1}(key); }

namespace detail {

Initializer RandomNormal::operator()(const RandomKey& key) const {
  return draw_normal(key, options.mean, options.stddev);
}

Initializer TruncatedNormal::operator()(const RandomKey& key) const {
  return draw_truncated_normal(key, options.mean, options.stddev);
}

Initializer RandomUniform::operator()(const RandomKey& key) const {
  const auto center = static_cast<float>((options.minval + options.maxval) / 2);
  const auto limit = static_cast<float>((options.maxval - options.minval) / 2);
  return draw_uniform(key, center, limit);
}

Initializer VarianceScaling::operator()(const RandomKey& key) const { return scaled(options, key); }

Initializer Orthogonal::operator()(const RandomKey& key) const {
  return [key, gain = options.gain](const Tensor& values) {
    require(values.rank() >= 2, "orthogonal needs a matrix, got {}", values);
    const std::int64_t columns = values.dim(-1);
    const std::int64_t rows = columns == 0 ? 0 : values.elements() / columns;
    Columns q = orthonormal_columns(gaussian(key, std::max(rows, columns), std::min(rows, columns)));
    float* out = values.span<float>().data();
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        *out++ = static_cast<float>(gain * (rows >= columns ? q[column][row] : q[row][column]));
  };
}

Initializer Constant::operator()(const RandomKey&) const {
  return
      [number = static_cast<float>(value)](const Tensor& values) { std::ranges::fill(values.span<float>(), number); };
}

}  // namespace detail

}  // namespace lockstep
