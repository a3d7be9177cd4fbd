// Layer normalization. A row is read several times while it is in the first-level cache. The gradients of gamma and
// beta are summed by blocks of rows that the shape alone decides, so that any number of threads gives the same bits.

#include <algorithm>

#include <lockstep/kernels/executor/real.h>
#include <lockstep/kernels/normalization/layer_norm_math.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

using cpu::value_of;
using Index = std::int64_t;

constexpr Index most_blocks = 64;
constexpr Index least_block = 8;  ///< rows, so that the blocks' sums are small beside x

/// Rows of less than 8192 elements in all are not worth waking a thread for.
Index grain_of(Index features) { return std::max<Index>(1, 8192 / features); }

/// Of x - shift.
template <class T>
float sum_of(const T* x, float shift, Index n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) sum += value_of(x[i]) - shift;
  return sum;
}

/// The second pass takes back what the first one's sum rounded off, however large the mean is.
template <class T>
float mean_of(const T* x, Index n) {
  const auto count = static_cast<float>(n);
  const float mean = sum_of(x, 0, n) / count;
  return mean + sum_of(x, mean, n) / count;
}

/// Of squared distances from the mean: no cancellation however large that is.
template <class T>
float squares_of(const T* x, float mean, Index n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) sum += (value_of(x[i]) - mean) * (value_of(x[i]) - mean);
  return sum;
}

/// One row and what its normalization found.
template <class T>
struct Row {
  const T* x;
  const float* gamma;
  const T* dy;
  RowMoments moments;
};

// Rows are taken by value: read through a pointer, their members might be what is written to, and loops would load them
// again for every element.

/// Adds dy * normalized x to dgamma and dy to dbeta.
template <class T>
void add_sums(Row<T> row, float* dgamma, float* dbeta, Index n) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    dgamma[i] += value_of(row.dy[i]) * row.moments(value_of(row.x[i]));
    dbeta[i] += value_of(row.dy[i]);
  }
}

/// From g = dy * gamma and z, the normalized x.
template <class T>
void write_gradient(Row<T> row, T* dx, Index n) {
  float sum_g = 0;
  float sum_gz = 0;
#pragma omp simd reduction(+ : sum_g, sum_gz)
  for (Index i = 0; i < n; ++i) {
    const float g = value_of(row.dy[i]) * row.gamma[i];
    sum_g += g;
    sum_gz += g * row.moments(value_of(row.x[i]));
  }
  const float count = static_cast<float>(n);
  const float mean_g = sum_g / count;
  const float mean_gz = sum_gz / count;
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const float g = value_of(row.dy[i]) * row.gamma[i];
    cpu::store(dx[i], row.moments.gradient(g, row.moments(value_of(row.x[i])), mean_g, mean_gz));
  }
}

}  // namespace

void kernels::LayerNorm::on_cpu() const {
  const Index n = x.dim(1);
  const float* const scale = gamma.data<float>();
  const float* const shift = beta.data<float>();
  visit_real(x.dtype(), [&]<class T>() {
    parallel_for(x.dim(0), grain_of(n), [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) {
        const T* const from = x.data<T>() + row * n;
        T* const to = y.data<T>() + row * n;
        const float m = mean_of(from, n);
        const auto moments = RowMoments::of(m, squares_of(from, m, n), static_cast<float>(n), epsilon);
        mean.data<float>()[row] = moments.mean;
        inverse.data<float>()[row] = moments.inverse;
#pragma omp simd
        for (Index i = 0; i < n; ++i) cpu::store(to[i], moments(value_of(from[i])) * scale[i] + shift[i]);
      }
    });
  });
}

void kernels::LayerNormGradient::on_cpu() const {
  const Index rows = x.dim(0);
  const Index n = x.dim(1);
  const Index block_rows = std::max(least_block, (rows + most_blocks - 1) / most_blocks);
  const Index blocks = (rows + block_rows - 1) / block_rows;
  const Tensor sums = Tensor::empty({blocks, 2, n});
  visit_real(x.dtype(), [&]<class T>() {
    parallel_for(blocks, std::max<Index>(1, grain_of(n) / block_rows), [&](Index begin, Index end) {
      for (Index block = begin; block < end; ++block) {
        float* const sum = sums.data<float>() + block * 2 * n;
        std::fill_n(sum, 2 * n, 0.0F);
        for (Index r = block * block_rows; r < std::min(rows, (block + 1) * block_rows); ++r) {
          const Row<T> row{.x = x.data<T>() + r * n,
                           .gamma = gamma.data<float>(),
                           .dy = dy.data<T>() + r * n,
                           .moments = {mean.data<float>()[r], inverse.data<float>()[r]}};
          add_sums(row, sum, sum + n, n);
          if (dx.defined()) write_gradient(row, dx.data<T>() + r * n, n);
        }
      }
    });
  });
  const Tensor total = Tensor::empty({1, 2 * n});
  kernels::SumMiddle{sums.view({1, blocks, 2 * n}), total}.on_cpu();
  std::copy_n(total.data<float>(), n, dgamma.data<float>());
  std::copy_n(total.data<float>() + n, n, dbeta.data<float>());
}

}  // namespace lockstep
