#include <algorithm>
#include <type_traits>

#include <lockstep/kernels/executor/parallel_strided.h>
#include <lockstep/kernels/executor/real.h>
#include <lockstep/kernels/scan/scan_kernels.h>

namespace lockstep {
namespace {

constexpr std::int64_t tile_columns = 512;  // columns summed together: 2 or 4 KiB of sums

/// Running sums of up to `tile_columns` neighboring columns. `stride`: elements from one row to the next, negative to
/// sum from the last row to the first.
template <class T>
void sum_rows(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, bool exclusive, T* y) {
  using Sum = typename kernels::CumulativeSumOf<T>::type;
  Sum sums[tile_columns];
  std::fill_n(sums, columns, Sum{});
  for (std::int64_t r = 0; r < rows; ++r, x += stride, y += stride)
    for (std::int64_t c = 0; c < columns; ++c) {
      const Sum before = sums[c];
      sums[c] = before + static_cast<Sum>(x[c]);
      const Sum result = exclusive ? before : sums[c];
      if constexpr (std::is_integral_v<T>)
        y[c] = static_cast<T>(result);
      else
        cpu::store(y[c], result);
    }
}

}  // namespace

void kernels::CumulativeSum::on_cpu() const {
  if (x.elements() == 0) return;
  const std::int64_t n = x.dim(1);
  const std::int64_t inner = x.dim(2);
  const std::int64_t tiles = (inner + tile_columns - 1) / tile_columns;
  const std::int64_t grain = std::max<std::int64_t>(1, cpu::grain / (n * std::min(inner, tile_columns)));
  visit_cumsum(x.dtype(), [&]<class T>() {
    parallel_for(x.dim(0) * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        const std::int64_t column = part % tiles * tile_columns;
        const std::int64_t first = part / tiles * n * inner + column + (reverse ? (n - 1) * inner : 0);
        sum_rows(x.data<T>() + first, n, reverse ? -inner : inner, std::min(tile_columns, inner - column), exclusive,
                 y.data<T>() + first);
      }
    });
  });
}

}  // namespace lockstep
