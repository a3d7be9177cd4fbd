#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <lockstep/kernels/cpu/transpose.h>
#include <lockstep/kernels/cpu/vector.h>
#include <lockstep/kernels/executor/real.h>
#include <lockstep/runtime/tensor/tensor.h>

// Small f32 matrices, for products of blocks of queries, keys and values on CPUs.

namespace lockstep::attention {

using cpu::Lanes;
using cpu::lanes;

/// n, rounded up to a multiple of `lanes`.
constexpr std::int64_t whole_lanes(std::int64_t n) { return (n + lanes - 1) / lanes * lanes; }

/// A row-major f32 matrix whose sizes are multiples of `lanes`.
class Tile {
 public:
  /// Makes an uninitialized matrix of these sizes, rounded up to multiples of `lanes`.
  Tile(std::int64_t rows, std::int64_t columns)
      : rows_(whole_lanes(rows)),
        columns_(whole_lanes(columns)),
        lines_(static_cast<std::size_t>((rows_ * columns_ + Line::size - 1) / Line::size)) {}

  ///@{
  /// The rounded sizes.
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  ///@}
  ///@{
  /// The first element of row i. The rows are contiguous in memory.
  float* row(std::int64_t i) { return lines_.data()->elements + i * columns_; }
  const float* row(std::int64_t i) const { return lines_.data()->elements + i * columns_; }
  ///@}
  /// Sets all elements.
  void fill(float value) { std::fill_n(row(0), rows_ * columns_, value); }

 private:
  struct alignas(64) Line {
    Line() {}  // NOLINT: leaves the elements uninitialized
    static constexpr std::int64_t size = 16;
    float elements[size];
  };

  std::int64_t rows_, columns_;
  std::vector<Line> lines_;
};

/// One head of one example as a matrix (time, size), with any strides.
template <class T>
struct Head {
  /// Head `head` of example `example` of x (b, time, heads, size).
  Head(const Tensor& x, std::int64_t example, std::int64_t head)
      : first(x.data<std::remove_const_t<T>>() + example * x.strides()[0] + head * x.strides()[2]),
        row_stride(x.strides()[1]),
        column_stride(x.strides()[3]),
        columns(x.dim(3)) {}

  T* first;  ///< element 0 of row 0
  ///@{
  /// Distances between rows and between columns, in elements, and the number of columns.
  std::int64_t row_stride, column_stride, columns;
  ///@}
};

/// Copies rows [first, first + count) of the head, times `factor`, into the tile's first `count` rows. Sets the other
/// elements of the tile's first whole_lanes(count) rows to 0.
template <class T>
void load(const Head<T>& head, std::int64_t first, std::int64_t count, float factor, Tile& tile) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T* const from = head.first + (first + i) * head.row_stride;
    float* const to = tile.row(i);
    // The rows of a head are too far apart for the hardware prefetcher.
    for (std::int64_t k = 0; k < head.columns; k += lanes) __builtin_prefetch(from + 8 * head.row_stride + k);
    if (head.column_stride == 1)
      for (std::int64_t k = 0; k < head.columns; ++k) to[k] = factor * cpu::value_of(from[k]);
    else
      for (std::int64_t k = 0; k < head.columns; ++k) to[k] = factor * cpu::value_of(from[k * head.column_stride]);
    std::fill(to + head.columns, to + tile.columns(), 0.0F);
  }
  std::fill(tile.row(count), tile.row(whole_lanes(count)), 0.0F);
}

/// Copies the tile's first `count` rows, rounded to T, into rows [first, first + count) of the head.
template <class T>
void store(const Tile& tile, std::int64_t first, std::int64_t count, const Head<T>& head) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const from = tile.row(i);
    T* const to = head.first + (first + i) * head.row_stride;
    if (head.column_stride == 1)
      for (std::int64_t k = 0; k < head.columns; ++k) cpu::store(to[k], from[k]);
    else
      for (std::int64_t k = 0; k < head.columns; ++k) cpu::store(to[k * head.column_stride], from[k]);
  }
}

/// Transposes the first `rows` rows and `columns` columns of x into y. Both numbers must be multiples of
/// `lanes`.
inline void transpose(const Tile& x, std::int64_t rows, std::int64_t columns, Tile& y) {
  for (std::int64_t i = 0; i < rows; i += lanes)
    for (std::int64_t k = 0; k < columns; k += lanes) {
      Lanes block[lanes];
      for (std::int64_t l = 0; l < lanes; ++l) std::memcpy(&block[l], x.row(i + l) + k, sizeof(Lanes));
      cpu::transpose(block);
      for (std::int64_t l = 0; l < lanes; ++l) std::memcpy(y.row(k + l) + i, &block[l], sizeof(Lanes));
    }
}

/// A matrix whose elements are read one by one: element (i, k) is first[i * row_stride + k * column_stride].
struct Factor {
  ///@{
  /// Element (0, 0), and the distances between rows and between columns, in elements.
  const float* first;
  std::int64_t row_stride, column_stride;
  ///@}
};
///@{
/// The tile, or its transpose, as a Factor.
inline Factor factor(const Tile& x) { return {x.row(0), x.columns(), 1}; }
inline Factor transposed_factor(const Tile& x) { return {x.row(0), 1, x.columns()}; }
///@}

namespace detail {

/// Computes `rows` rows and lanes * vectors columns of a product in registers: c = a b or, with `add`, c += a b.
/// `depth` is the number of columns of a and of rows of b.
template <int rows, int vectors>
void multiply_block(const Factor& a, const float* b, std::int64_t b_stride, std::int64_t depth, bool add, float* c,
                    std::int64_t c_stride) {
  Lanes sums[rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      sums[i][v] = Lanes{};
      if (add) std::memcpy(&sums[i][v], c + i * c_stride + v * lanes, sizeof(Lanes));
    }
  for (std::int64_t k = 0; k < depth; ++k) {
    Lanes right[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) std::memcpy(&right[v], b + k * b_stride + v * lanes, sizeof(Lanes));
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const float left = a.first[i * a.row_stride + k * a.column_stride];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[i][v] += left * right[v];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) std::memcpy(c + i * c_stride + v * lanes, &sums[i][v], sizeof(Lanes));
}

/// Maximum number of rows that multiply_block computes at once: the sums of two vectors for each, and the operands, fit
/// into the 32 registers of AVX-512, or else into 16.
inline constexpr int block_rows = cpu::register_bytes == 64 ? 8 : 6;

/// Calls multiply_block for `count` rows; `count` is at most `rows`.
template <int vectors, int rows = block_rows>
void multiply_rows(int count, const Factor& a, const float* b, std::int64_t b_stride, std::int64_t depth, bool add,
                   float* c, std::int64_t c_stride) {
  if constexpr (rows > 0) {
    if (count == rows) return multiply_block<rows, vectors>(a, b, b_stride, depth, add, c, c_stride);
    multiply_rows<vectors, rows - 1>(count, a, b, b_stride, depth, add, c, c_stride);
  }
}

}  // namespace detail

/// Computes c = a b or, with `add`, c += a b. Reads the first `rows` rows and `depth` columns of a, and the first
/// `depth` rows and `columns` columns of b; `columns` must be a multiple of `lanes`. Writes rows [first, first + rows)
/// and the first `columns` columns of c.
inline void multiply(const Factor& a, const Tile& b, std::int64_t rows, std::int64_t depth, std::int64_t columns,
                     bool add, Tile& c, std::int64_t first = 0) {
  for (std::int64_t k = 0; k < columns; k += 2 * lanes)
    for (std::int64_t i = 0; i < rows; i += detail::block_rows) {
      const auto count = static_cast<int>(std::min<std::int64_t>(detail::block_rows, rows - i));
      const Factor part{a.first + i * a.row_stride, a.row_stride, a.column_stride};
      float* const to = c.row(first + i) + k;
      if (columns - k >= 2 * lanes)
        detail::multiply_rows<2>(count, part, b.row(0) + k, b.columns(), depth, add, to, c.columns());
      else
        detail::multiply_rows<1>(count, part, b.row(0) + k, b.columns(), depth, add, to, c.columns());
    }
}

}  // namespace lockstep::attention
