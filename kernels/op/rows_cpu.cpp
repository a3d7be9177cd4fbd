#include <algorithm>
#include <cstring>

#include <lockstep/kernels/op/rows_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr std::int64_t grain = 16384;  // least number of elements per thread

/// The position of the first index outside [0, rows), or -1. `may_be_no_row`: no_row is allowed.
std::int64_t first_outside(std::span<const std::int64_t> indices, std::int64_t rows, bool may_be_no_row) {
  const auto found = std::ranges::find_if(
      indices, [=](std::int64_t i) { return (i < 0 || i >= rows) && !(may_be_no_row && i == no_row); });
  return found == indices.end() ? -1 : found - indices.begin();
}

/// Adds rows to `out`. Each thread adds a range of columns, in the order of the rows, so that the result does not
/// depend on the number of threads.
template <class T>
void scatter_add_columns(const Tensor& values, std::span<const std::int64_t> indices, const Tensor& out) {
  const std::int64_t rows = out.dim(0);
  const std::int64_t width = out.dim(1);
  const T* const from = values.data<T>();
  T* const to = out.data<T>();
  const auto count = static_cast<std::int64_t>(indices.size());
  const std::int64_t columns = std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, count));
  parallel_for(width, columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = indices[static_cast<std::size_t>(i)];
      if (row < 0 || row >= rows) continue;
      const T* const x = from + i * width;
      T* const y = to + row * width;
      for (std::int64_t c = begin; c < end; ++c)
        y[c] = static_cast<T>(static_cast<float>(y[c]) + static_cast<float>(x[c]));
    }
  });
}

}  // namespace

std::int64_t kernels::GatherRows::on_cpu() const {
  const std::span<const std::int64_t> rows = indices.span<std::int64_t>();
  const std::int64_t outside = first_outside(rows, x.dim(0), false);
  if (outside >= 0) return outside;
  const std::int64_t width = x.dim(1);
  const float* const from = x.data<float>();
  float* const to = y.data<float>();
  const std::int64_t row_grain = std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, width));
  parallel_for(static_cast<std::int64_t>(rows.size()), row_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      std::memcpy(to + i * width, from + rows[static_cast<std::size_t>(i)] * width,
                  static_cast<std::size_t>(width) * sizeof(float));
  });
  return -1;
}

std::int64_t kernels::ScatterAddRows::on_cpu() const {
  const std::span<const std::int64_t> rows = indices.span<std::int64_t>();
  if (out.dtype() == DType::bf16)
    scatter_add_columns<bfloat16>(values, rows, out);
  else
    scatter_add_columns<float>(values, rows, out);
  return first_outside(rows, out.dim(0), true);
}

}  // namespace lockstep
