#include <algorithm>
#include <numeric>
#include <vector>

#include <lockstep/kernels/cpu/lanes.h>
#include <lockstep/kernels/executor/parallel_strided.h>
#include <lockstep/kernels/executor/real.h>
#include <lockstep/kernels/reduction/reduce_functions.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>

namespace lockstep {
namespace {

constexpr std::int64_t lanes = 16;
constexpr std::int64_t tile_columns = 512;  // columns summed together: 4 KiB of f64

template <class T>
double as_double(const T& x) {
  return static_cast<double>(cpu::value_of(x));
}

/// f64 sum of consecutive elements, in lanes so that the loop is vectorized.
template <class T>
double sum_consecutive(const T* x, std::int64_t n) {
  double lane[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t l = 0; l < lanes; ++l) lane[l] += as_double(x[i + l]);
  for (std::int64_t l = 0; i + l < n; ++l) lane[l] += as_double(x[i + l]);
  for (std::int64_t half = lanes / 2; half > 0; half /= 2)
    for (std::int64_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

/// sums[c] = f64 sum of x[r * row_stride + c] over the rows. Adds four rows at a time, since a pass over `sums` costs
/// more than reading a row.
template <class T>
void sum_columns(const T* x, std::int64_t rows, std::int64_t row_stride, std::int64_t columns, double* sums) {
  std::fill(sums, sums + columns, 0.0);
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * row_stride) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const double first = as_double(x[c]) + as_double(x[c + row_stride]);
      const double second = as_double(x[c + 2 * row_stride]) + as_double(x[c + 3 * row_stride]);
      sums[c] += first + second;
    }
  }
  for (; r < rows; ++r, x += row_stride)
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += as_double(x[c]);
}

/// How the sum over the middle axis of (outer, n, inner) is divided into parts for threads. The division, and so the
/// order of addition, depends only on the shape.
struct SumPlan {
  std::int64_t outer, n, inner;
  std::int64_t rows;    ///< rows of n in a part
  std::int64_t blocks;  ///< parts along n
  std::int64_t tiles;   ///< parts along inner

  explicit SumPlan(const Shape& x) : outer(x[0]), n(x[1]), inner(x[2]) {
    const std::int64_t width = std::clamp<std::int64_t>(inner, 1, tile_columns);
    rows = std::max<std::int64_t>(16, cpu::grain / width);
    blocks = std::max<std::int64_t>(1, (n + rows - 1) / rows);
    tiles = (inner + tile_columns - 1) / tile_columns;
  }
  std::int64_t parts() const { return outer * blocks * tiles; }
  std::int64_t part_elements() const { return std::min(rows, n) * std::min(inner, tile_columns); }
};

/// Sums one part and calls store(index into (outer, blocks, inner), value) for each of its columns.
template <class T, class Store>
void sum_part(const SumPlan& plan, std::int64_t part, const T* x, const Store& store) {
  const std::int64_t tile = part % plan.tiles;
  const std::int64_t block = part / plan.tiles % plan.blocks;
  const std::int64_t outer = part / plan.tiles / plan.blocks;
  const std::int64_t row = block * plan.rows;
  const std::int64_t rows = std::min(plan.rows, plan.n - row);
  const std::int64_t column = tile * tile_columns;
  const std::int64_t columns = std::min(tile_columns, plan.inner - column);
  const T* first = x + (outer * plan.n + row) * plan.inner + column;
  const std::int64_t at = (outer * plan.blocks + block) * plan.inner + column;
  if (plan.inner == 1) {
    store(at, sum_consecutive(first, rows));
    return;
  }
  double sums[tile_columns];
  sum_columns(first, rows, plan.inner, columns, sums);
  for (std::int64_t c = 0; c < columns; ++c) store(at + c, sums[c]);
}

/// Sums all parts in parallel.
template <class T, class Store>
void sum_parts(const SumPlan& plan, const T* x, const Store& store) {
  const std::int64_t grain = std::max<std::int64_t>(1, cpu::grain / std::max<std::int64_t>(1, plan.part_elements()));
  parallel_for(plan.parts(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) sum_part(plan, part, x, store);
  });
}

template <class From, class To>
void sum(const SumPlan& plan, const From* from, To* to) {
  if (plan.blocks == 1) {
    sum_parts(plan, from, [=](std::int64_t at, double sum) { cpu::store(to[at], static_cast<float>(sum)); });
    return;
  }
  std::vector<double> partial(static_cast<std::size_t>(plan.outer * plan.blocks * plan.inner));
  sum_parts(plan, from, [&](std::int64_t at, double sum) { partial[static_cast<std::size_t>(at)] = sum; });
  parallel_for(plan.outer * plan.inner, std::max<std::int64_t>(1, cpu::grain / plan.blocks),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const double* first = partial.data() + i / plan.inner * plan.blocks * plan.inner + i % plan.inner;
                   double sum = 0;
                   for (std::int64_t b = 0; b < plan.blocks; ++b) sum += first[b * plan.inner];
                   cpu::store(to[i], static_cast<float>(sum));
                 }
               });
}

/// f64 sum of squares.
double squares(const float* x, std::int64_t n) {
  return cpu::sum_in_lanes(0, n, [x](std::int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
}

}  // namespace

void kernels::SumMiddle::on_cpu() const {
  visit_summed(x.dtype(), [&]<class From>() {
    visit_real(y.dtype(), [&]<class To>() { sum(SumPlan(x.shape()), x.data<From>(), y.data<To>()); });
  });
}

void kernels::Argmax::on_cpu() const {
  const std::int64_t n = x.dim(-1);
  std::int64_t* to = y.data<std::int64_t>();
  const float sign = smallest ? -1.0F : 1.0F;
  const std::int64_t grain = std::max<std::int64_t>(1, cpu::grain / std::max<std::int64_t>(1, n));
  visit_real(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    parallel_for(y.elements(), grain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* values = from + row * n;
        Largest largest{sign * cpu::value_of(values[0]), 0};
        for (std::int64_t i = 1; i < n; ++i) largest.offer(sign * cpu::value_of(values[i]), i);
        to[row] = largest.index;
      }
    });
  });
}

double kernels::SquaredNorm::on_cpu() const {
  constexpr std::int64_t block = 16384;  // fixed: the order of addition must not depend on the threads
  std::vector<double> sums(static_cast<std::size_t>((count + block - 1) / block));
  parallel_for(static_cast<std::int64_t>(sums.size()), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t last = std::min(count, (i + 1) * block);
      sums[static_cast<std::size_t>(i)] = squares(x + i * block, last - i * block);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace lockstep
