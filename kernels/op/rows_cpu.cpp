#include <algorithm>
#include <type_traits>

#include <lockstep/kernels/elementwise/binary_functions.h>
#include <lockstep/kernels/op/rows_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr std::int64_t grain = 16384;  // least number of elements per thread

/// The number of rows of `elements` elements that a thread takes at least.
std::int64_t grain_of(std::int64_t elements) {
  return std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, elements));
}

/// The position of the first index outside [0, rows), or -1. `may_be_no_row`: no_row is allowed.
std::int64_t first_outside(std::span<const std::int64_t> indices, std::int64_t rows, bool may_be_no_row) {
  const auto found = std::ranges::find_if(
      indices, [=](std::int64_t i) { return (i < 0 || i >= rows) && !(may_be_no_row && i == no_row); });
  return found == indices.end() ? -1 : found - indices.begin();
}

template <class T>
void gather(const Tensor& x, std::span<const std::int64_t> indices, const Tensor& y) {
  const std::int64_t rows = x.dim(1);
  const std::int64_t width = x.dim(2);
  const auto n = static_cast<std::int64_t>(indices.size());
  const T* const from = x.data<T>();
  T* const to = y.data<T>();
  parallel_for(y.dim(0) * n, grain_of(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t row = at / n * rows + indices[static_cast<std::size_t>(at % n)];
      if (width == 1)
        to[at] = from[row];
      else
        std::copy_n(from + row * width, width, to + at * width);
    }
  });
}

/// Columns [begin, end) of the rows of one matrix, written or added in the order of the rows.
template <class T>
void scatter_columns(const T* values, std::span<const std::int64_t> indices, Write write, T* out, std::int64_t rows,
                     std::int64_t width, std::int64_t begin, std::int64_t end) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t row = indices[i];
    if (row < 0 || row >= rows) continue;
    const T* const x = values + static_cast<std::int64_t>(i) * width;
    T* const y = out + row * width;
    if (write == Write::replace)
      std::copy(x + begin, x + end, y + begin);
    else if constexpr (!std::is_same_v<T, bfloat16>)
      for (std::int64_t c = begin; c < end; ++c) y[c] = functor::Add()(y[c], x[c]);
  }
}

/// Each thread takes a range of matrices, or of columns of a single matrix, so that the result does not depend on the
/// number of threads.
template <class T>
void scatter(const Tensor& values, std::span<const std::int64_t> indices, Write write, const Tensor& out) {
  const std::int64_t rows = out.dim(1);
  const std::int64_t width = out.dim(2);
  const auto n = static_cast<std::int64_t>(indices.size());
  const T* const from = values.data<T>();
  T* const to = out.data<T>();
  if (out.dim(0) == 1)
    return parallel_for(width, grain_of(n), [&](std::int64_t begin, std::int64_t end) {
      scatter_columns(from, indices, write, to, rows, width, begin, end);
    });
  parallel_for(out.dim(0), grain_of(n * width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t matrix = begin; matrix < end; ++matrix)
      scatter_columns(from + matrix * n * width, indices, write, to + matrix * rows * width, rows, width, 0, width);
  });
}

}  // namespace

std::int64_t kernels::GatherRows::on_cpu() const {
  const std::span<const std::int64_t> rows = indices.span<std::int64_t>();
  const std::int64_t outside = first_outside(rows, x.dim(1), false);
  if (outside >= 0) return outside;
  visit_dtype(x.dtype(), [&]<class T>() { gather<T>(x, rows, y); });
  return -1;
}

std::int64_t kernels::ScatterRows::on_cpu() const {
  if (write == Write::add && out.dtype() == DType::bf16) return on_host(*this);  // rounds each sum once
  const std::span<const std::int64_t> rows = indices.span<std::int64_t>();
  visit_addable(out.dtype(), [&]<class T>() { scatter<T>(values, rows, write, out); });
  return first_outside(rows, out.dim(1), true);
}

}  // namespace lockstep
