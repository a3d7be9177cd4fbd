#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/launch.cuh>
#include <lockstep/kernels/executor/shared_values.cuh>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Implements kernels/executor/executor.h on a GPU. It uses CUDA only through launch.cuh, which tests replace by a GPU
// emulated on the CPU (tests/kernels/emulated_gpu).

namespace lockstep::cuda {

using kernels::Index;

/// A team of `width` threads with ranks 0 to width - 1: a warp or a block.
template <int width>
class Team {
 public:
  LOCKSTEP_HOST_DEVICE Team(void* shared, int rank) : shared_(shared), rank_(rank) {}

  template <class Value, class Load, class Combine>
  LOCKSTEP_HOST_DEVICE Value reduce(Index n, Value start, const Load& load, const Combine& combine) {
    static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) <= kernels::most_value_bytes);
    Value value = start;
    for (Index i = rank_; i < n; i += width) value = combine(value, load(i));
    auto* const values = static_cast<Value*>(shared_);
    synchronize();  // all threads have read the last reduction's result
    values[rank_] = value;
    synchronize();
    for (int half = width / 2; half > 0; half /= 2) {
      if (rank_ < half) values[rank_] = combine(values[rank_], values[rank_ + half]);
      synchronize();
    }
    return values[0];
  }

  template <class Value, class Load, class Combine, class Store>
  LOCKSTEP_HOST_DEVICE void scan(Index n, Value start, const Load& load, const Combine& combine, const Store& store) {
    static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) <= kernels::most_value_bytes);
    Value carried = start;
    for (Index first = 0; first < n; first += width * kernels::scan_run) {
      const Index begin = first + rank_ * kernels::scan_run;
      Value run[kernels::scan_run];
      Value whole = start;
      for (int l = 0; l < kernels::scan_run; ++l) {
        run[l] = begin + l < n ? load(begin + l) : start;
        whole = combine(whole, run[l]);
      }
      const Value* const values = scan_of_threads(whole, combine);
      Value before = rank_ == 0 ? carried : combine(carried, values[rank_ - 1]);
      for (int l = 0; l < kernels::scan_run && begin + l < n; ++l) {
        const Value through = combine(before, run[l]);
        store(begin + l, before, through);
        before = through;
      }
      carried = combine(carried, values[width - 1]);
    }
  }

  template <class Body>
  LOCKSTEP_HOST_DEVICE void each(Index n, const Body& body) {
    for (Index i = rank_; i < n; i += width) body(i);
  }

  template <class Body>
  LOCKSTEP_HOST_DEVICE void once(const Body& body) {
    if (rank_ == 0) body();
  }

 private:
  /// Inclusive scan of the threads' values by rank. Returns an array with one result per rank, readable by all threads.
  template <class Value, class Combine>
  LOCKSTEP_HOST_DEVICE const Value* scan_of_threads(Value value, const Combine& combine) {
    auto* const values = static_cast<Value*>(shared_);
    synchronize();  // all threads have read the previous values
    values[rank_] = value;
    synchronize();
    for (int distance = 1; distance < width; distance *= 2) {
      if (rank_ >= distance) value = combine(values[rank_ - distance], value);
      synchronize();
      values[rank_] = value;
      synchronize();
    }
    return values;
  }

  LOCKSTEP_HOST_DEVICE static void synchronize() {
    if constexpr (width == kernels::narrow_team)
      warp_barrier();
    else
      block_barrier();
  }

  void* shared_;
  int rank_;
};

template <class F>
__global__ void __launch_bounds__(block_threads) for_each_kernel(Index n, F f) {
  const Index step = static_cast<Index>(gridDim.x) * block_threads;
  for (Index i = static_cast<Index>(blockIdx.x) * block_threads + threadIdx.x; i < n; i += step) f(i);
}

template <int width, class F>
__global__ void __launch_bounds__(block_threads) teams_kernel(Index count, F f) {
  constexpr int teams = block_threads / width;
  alignas(kernels::most_value_bytes) __shared__ unsigned char values[block_threads * kernels::most_value_bytes];
  const int first = static_cast<int>(threadIdx.x) / width * width;
  Team<width> team(values + first * kernels::most_value_bytes, static_cast<int>(threadIdx.x) - first);
  // All threads of a team run the same iterations.
  const Index step = static_cast<Index>(gridDim.x) * teams;
  for (Index group = static_cast<Index>(blockIdx.x) * teams + first / width; group < count; group += step)
    f(team, group);
}

/// Each block processes `width` = kernels::column_width(inner) neighbors along `inner`.
template <class F>
__global__ void __launch_bounds__(block_threads) columns_kernel(Index outer, Index n, Index inner, int width, F f) {
  using Value = typename F::Value;
  alignas(kernels::most_value_bytes) __shared__ unsigned char shared[SharedValues<Value>::bytes];
  const SharedValues<Value> values(shared);
  const int depth = block_threads / width;
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % width;
  const int row = thread / width;
  const Index tiles = (inner + width - 1) / width;
  for (Index block = blockIdx.x; block < outer * tiles; block += gridDim.x) {
    const Index o = block / tiles;
    const Index k = (block - o * tiles) * width + column;
    Value value = f.start();
#if defined(__CUDACC__)
#pragma unroll(sizeof(Value) <= kernels::most_value_bytes ? 8 : 1)  // loads of small values overlap
#endif
    for (Index i = k < inner ? row : n; i < n; i += depth) value = f.combine(value, f.load(o, i, k));
    values.set(thread, value);
    block_barrier();
    for (int half = depth / 2; half > 0; half /= 2) {
      if (row < half) {
        value = f.combine(value, values.get(thread + half * width));
        values.set(thread, value);
      }
      block_barrier();
    }
    if (row == 0 && k < inner) f.finish(o, k, value);
  }
}

constexpr int rows_blocks = 3;  ///< minimum number of concurrent blocks per multiprocessor; bounds a thread's registers

/// Like columns_kernel, but with `along` blocks for each tile. A thread processes every `stride`th row of one column.
template <class F>
__global__ void __launch_bounds__(block_threads, rows_blocks)
    rows_kernel(Index n, Index inner, int width, Index along, F f) {
  using Loaded = decltype(f.load(0, 0));
  constexpr int at_a_time = sizeof(Loaded) <= 16 ? 4 : 2;  // to have 64 bytes in flight
  const int depth = block_threads / width;
  const Index tiles = (inner + width - 1) / width;
  const Index stride = along * depth;
  for (Index block = blockIdx.x; block < tiles * along; block += gridDim.x) {
    const Index line = block / tiles;
    const Index k = (block - line * tiles) * width + static_cast<int>(threadIdx.x) % width;
    if (k >= inner) continue;
    const auto kept = f.keep(k);
    for (Index i = line * depth + static_cast<int>(threadIdx.x) / width; i < n; i += at_a_time * stride) {
      Loaded loaded[at_a_time];
      for (int l = 0; l < at_a_time; ++l)
        if (i + l * stride < n) loaded[l] = f.load(i + l * stride, k);
      for (int l = 0; l < at_a_time; ++l)
        if (i + l * stride < n) f.store(kept, loaded[l], i + l * stride, k);
    }
  }
}

/// Reports positions of indices out of range, for Gpu::synchronize.
class Faults {
 public:
  explicit Faults(IndexFault* fault) : fault_(fault) {}

  LOCKSTEP_HOST_DEVICE void operator()(Index place) const {
    lower_to(&fault_->first, static_cast<unsigned long long>(place));
  }

 private:
  IndexFault* fault_;
};

/// The executor of kernels/executor/executor.h for one op. Functions that are not templates are in cuda_executor.cu.
class CudaExecutor {
 public:
  template <class F>
  void for_each(Index n, const F& f) {
    if (n == 0) return;
    launch(gpu_, for_each_kernel<F>, blocks(n, block_threads), n, f);
  }

  template <class F>
  void teams(Index count, Index n, const F& f) {
    if (count == 0) return;
    if (kernels::team_width(n) == kernels::narrow_team)
      launch_teams<kernels::narrow_team>(count, f);
    else
      launch_teams<kernels::wide_team>(count, f);
  }

  template <class F>
  void columns(Index outer, Index n, Index inner, const F& f) {
    const Index tiles = kernels::column_tiles(inner);
    if (outer * tiles == 0) return;
    launch(gpu_, columns_kernel<F>, blocks(outer * tiles, 1), outer, n, inner, kernels::column_width(inner), f);
  }

  template <class F>
  void rows(Index n, Index inner, const F& f) {
    if (n * inner == 0) return;
    // At most as many blocks as run at once on the first GPU used, so that a thread uses f.keep(k) for many rows.
    static const Index most_blocks = resident_blocks(gpu_, rows_kernel<F>);
    const Index tiles = kernels::column_tiles(inner);
    const Index depth = kernels::column_depth(inner);
    const Index along = std::min((n + depth - 1) / depth, std::max<Index>(1, most_blocks / tiles));
    launch(gpu_, rows_kernel<F>, blocks(tiles * along, 1), n, inner, kernels::column_width(inner), along, f);
  }

  kernels::SortedKeys sort(const Tensor& keys, Index bound);

  Faults faults(const std::string& what) { return Faults(gpu_.index_fault(what)); }
  std::int64_t first_fault(const Faults&) { return -1; }

  double value_at(const double* pointer);

 private:
  /// Grid size, at most CUDA's maximum; the kernels' loops process the rest.
  static unsigned blocks(Index items, Index items_of_block) {
    constexpr Index most_blocks = 2147483647;
    return static_cast<unsigned>(std::min(most_blocks, (items + items_of_block - 1) / items_of_block));
  }

  template <int width, class F>
  void launch_teams(Index count, const F& f) {
    launch(gpu_, teams_kernel<width, F>, blocks(count, block_threads / width), count, f);
  }

  Gpu& gpu_ = current_gpu();
};

}  // namespace lockstep::cuda
