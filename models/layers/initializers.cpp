#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include <lockstep/kernels/common/philox.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr std::int64_t block_size = 4;            // numbers of a Philox block
constexpr std::int64_t blocks_per_chunk = 16384;  // enough to pay for handing a chunk to a thread

/// Uniform in [-limit, limit): the upper 24 bits of a word, all that an f32 between 0.5 and 1 can hold.
float symmetric(std::uint32_t word, float limit) {
  const float unit = static_cast<float>(word >> 8) * 0x1p-24F;
  return (2.0F * unit - 1.0F) * limit;
}

/// sqrt(6 / (fan_in + fan_out)) of a kernel.
float glorot_limit(const Shape& kernel) {
  require(kernel.rank() >= 2, "glorot_uniform needs a kernel (..., in, out), got {}", kernel);
  double window = 1;
  for (int axis = 0; axis < kernel.rank() - 2; ++axis) window *= static_cast<double>(kernel[axis]);
  const double fans = window * static_cast<double>(kernel.dim(-2) + kernel.dim(-1));
  return static_cast<float>(std::sqrt(6.0 / fans));
}

/// Uniform in [-limit, limit).
void fill_symmetric(const RandomKey& key, float limit, const Tensor& values) {
  const RandomSequence sequence(key);
  const std::span<float> out = values.span<float>();
  const auto count = static_cast<std::int64_t>(out.size());
  parallel_for((count + block_size - 1) / block_size, blocks_per_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const PhiloxBlock random = sequence.block(static_cast<std::uint64_t>(block));
      const std::int64_t first = block * block_size;
      const std::int64_t used = std::min(block_size, count - first);
      for (std::int64_t i = 0; i < used; ++i) out[first + i] = symmetric(random.word[i], limit);
    }
  });
}

/// A tall matrix, held by columns.
struct Columns {
  std::int64_t rows = 0;
  std::int64_t count = 0;
  std::vector<double> values{};

  double* operator[](std::int64_t column) { return values.data() + column * rows; }
};

/// Normally distributed by the method of Box and Muller: two values from two words.
Columns gaussian(const RandomKey& key, std::int64_t rows, std::int64_t count) {
  Columns matrix{.rows = rows, .count = count};
  matrix.values.resize(static_cast<std::size_t>(rows * count));
  const RandomSequence sequence(key);
  const auto unit = [](std::uint32_t word) { return (word + 0.5) * 0x1p-32; };  // inside (0, 1)
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    const PhiloxBlock random = sequence.block(i / block_size);
    const std::size_t pair = i % block_size / 2 * 2;
    const double radius = std::sqrt(-2 * std::log(unit(random.word[pair])));
    const double angle = 2 * std::numbers::pi * unit(random.word[pair + 1]);
    matrix.values[i] = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
  }
  return matrix;
}

double dot(const double* a, const double* b, std::int64_t n) { return std::inner_product(a, a + n, b, 0.0); }

/// column -= 2 (v, column) v, for a v of length 1.
void reflect(const double* v, double* column, std::int64_t n) {
  const double twice = 2 * dot(v, column, n);
  for (std::int64_t i = 0; i < n; ++i) column[i] -= twice * v[i];
}

/// Turns column k, from its diagonal on, into the vector of the reflection that maps it to a multiple of the unit
/// vector, and gives that multiple: R's diagonal element. The matrix has full rank but for chance of measure 0.
double make_reflection(double* column, std::int64_t n) {
  const double diagonal = -std::copysign(std::sqrt(dot(column, column, n)), column[0]);
  column[0] -= diagonal;
  const double length = std::sqrt(dot(column, column, n));
  for (std::int64_t i = 0; i < n; ++i) column[i] /= length;
  return diagonal;
}

/// Q of matrix = Q R, R with a positive diagonal, by Householder reflections (Golub and Van Loan, 5.2).
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
  // Q's columns are those of the unit matrix under all reflections, the last one first.
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

Initializer glorot_uniform(const RandomKey& key) {
  return [key](const Tensor& values) { fill_symmetric(key, glorot_limit(values.shape()), values); };
}

Initializer random_uniform(const RandomKey& key, double limit) {
  require(limit >= 0, "random_uniform needs a limit of at least 0, got {}", limit);
  return [key, limit](const Tensor& values) { fill_symmetric(key, static_cast<float>(limit), values); };
}

Initializer orthogonal(const RandomKey& key) {
  return [key](const Tensor& values) {
    require(values.rank() >= 2, "orthogonal needs a matrix, got {}", values);
    const std::int64_t columns = values.dim(-1);
    const std::int64_t rows = columns == 0 ? 0 : values.elements() / columns;
    Columns q = orthonormal_columns(gaussian(key, std::max(rows, columns), std::min(rows, columns)));
    float* out = values.span<float>().data();
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        *out++ = static_cast<float>(rows >= columns ? q[column][row] : q[row][column]);
  };
}

Initializer zeros() {
  return [](const Tensor& values) { std::ranges::fill(values.span<float>(), 0.0F); };
}

Initializer ones() {
  return [](const Tensor& values) { std::ranges::fill(values.span<float>(), 1.0F); };
}

}  // namespace lockstep
