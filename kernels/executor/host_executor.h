#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/runtime/thread/parallel.h>

// Implements executor.h on the host, on up to compute_threads() threads. Combines values in the same order as
// CudaExecutor, for any number of host threads.

namespace lockstep::kernels {

namespace detail {

/// Minimum number of elements per thread.
constexpr Index host_grain = 4096;

/// Combines `width` values in place by halves, as the threads of a block do: first the values that are `width` / 2
/// apart. Returns the result.
template <class Value, class Combine>
Value combine_by_halves(Value* values, int width, const Combine& combine) {
  for (int half = width / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) values[i] = combine(values[i], values[i + half]);
  return values[0];
}

}  // namespace detail

/// A team of `width` threads, emulated by one host thread.
class HostTeam {
 public:
  explicit HostTeam(int width) : width_(width) {}

  template <class Value, class Load, class Combine>
  Value reduce(Index n, Value start, const Load& load, const Combine& combine) {
    static_assert(sizeof(Value) <= most_value_bytes);
    std::array<Value, wide_team> values;
    std::fill_n(values.begin(), width_, start);
    for (Index first = 0; first < n; first += width_) {
      const auto threads = static_cast<int>(std::min<Index>(width_, n - first));
      for (int rank = 0; rank < threads; ++rank) values[rank] = combine(values[rank], load(first + rank));
    }
    return detail::combine_by_halves(values.data(), width_, combine);
  }

  template <class Value, class Load, class Combine, class Store>
  void scan(Index n, Value start, const Load& load, const Combine& combine, const Store& store) {
    static_assert(sizeof(Value) <= most_value_bytes);
    Value carried = start;
    for (Index first = 0; first < n; first += width_ * scan_run) {
      std::array<Value, wide_team> values;
      std::fill_n(values.begin(), width_, start);
      for_each_of_runs(first, n, [&](int rank, Index i) { values[rank] = combine(values[rank], load(i)); });
      for (int distance = 1; distance < width_; distance *= 2)
        for (int rank = width_; rank-- > distance;) values[rank] = combine(values[rank - distance], values[rank]);
      std::array<Value, wide_team> before;
      before[0] = carried;
      for (int rank = 1; rank < width_; ++rank) before[rank] = combine(carried, values[rank - 1]);
      for_each_of_runs(first, n, [&](int rank, Index i) {
        const Value through = combine(before[rank], load(i));
        store(i, before[rank], through);
        before[rank] = through;
      });
      carried = combine(carried, values[width_ - 1]);
    }
  }

  template <class Body>
  void each(Index n, const Body& body) {
    for (Index i = 0; i < n; ++i) body(i);
  }

  template <class Body>
  void once(const Body& body) {
    body();
  }

 private:
  /// Calls visit(rank, i) for each element i of one round of the scan, which begins at `first`: thread `rank` of the
  /// team has a run of scan_run elements. Skips elements from n on.
  template <class Visit>
  void for_each_of_runs(Index first, Index n, const Visit& visit) const {
    for (int rank = 0; rank < width_; ++rank) {
      const Index begin = first + rank * scan_run;
      for (Index i = begin; i < std::min(begin + scan_run, n); ++i) visit(rank, i);
    }
  }

  int width_;
};

/// Keeps the smallest reported position of an index out of range.
class HostFaults {
 public:
  explicit HostFaults(std::atomic<Index>& first) : first_(&first) {}
  void operator()(Index place) const {
    Index before = *first_;
    while ((before < 0 || place < before) && !first_->compare_exchange_weak(before, place)) {
    }
  }
  Index first() const { return *first_; }

 private:
  std::atomic<Index>* first_;
};

class HostExecutor {
 public:
  template <class F>
  void for_each(Index n, const F& f) {
    parallel_for(n, detail::host_grain, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) f(i);
    });
  }

  template <class F>
  void teams(Index count, Index n, const F& f) {
    parallel_for(count, grain(n), [&](Index begin, Index end) {
      for (Index group = begin; group < end; ++group) {
        HostTeam team(team_width(n));
        f(team, group);
      }
    });
  }

  template <class F>
  void columns(Index outer, Index n, Index inner, const F& f) {
    using Value = typename F::Value;
    const int depth = column_depth(inner);
    parallel_for(outer * inner, grain(n), [&](Index begin, Index end) {
      std::vector<Value> values(static_cast<std::size_t>(depth));
      for (Index column = begin; column < end; ++column) {
        const Index o = column / inner;
        const Index k = column % inner;
        std::ranges::fill(values, f.start());
        for (Index i = 0; i < n; ++i) {
          Value& value = values[static_cast<std::size_t>(i % depth)];
          value = f.combine(value, f.load(o, i, k));
        }
        const auto combine = [&](const Value& a, const Value& b) { return f.combine(a, b); };
        f.finish(o, k, detail::combine_by_halves(values.data(), depth, combine));
      }
    });
  }

  template <class F>
  void rows(Index n, Index inner, const F& f) {
    parallel_for(n, grain(inner), [&](Index begin, Index end) {
      for (Index k = 0; k < inner; ++k) {
        const auto kept = f.keep(k);
        for (Index i = begin; i < end; ++i) f.store(kept, f.load(i, k), i, k);
      }
    });
  }

  SortedKeys sort(const Tensor& keys, Index bound) {
    const std::span<const std::int64_t> unsorted(keys.data<std::int64_t>(), static_cast<std::size_t>(keys.elements()));
    for (const std::int64_t key : unsorted) require(key >= 0 && key < bound, "key {} is not in [0, {})", key, bound);
    const SortedKeys sorted{Tensor::empty(keys.shape(), DType::i64), Tensor::empty(keys.shape(), DType::i64)};
    const std::span<std::int64_t> places(sorted.places.data<std::int64_t>(), unsorted.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::stable_sort(places, {}, [&](std::int64_t place) { return unsorted[static_cast<std::size_t>(place)]; });
    for (std::size_t i = 0; i < places.size(); ++i)
      sorted.keys.data<std::int64_t>()[i] = unsorted[static_cast<std::size_t>(places[i])];
    return sorted;
  }

  HostFaults faults(const std::string&) { return HostFaults(first_fault_); }
  Index first_fault(const HostFaults& faults) { return faults.first(); }

  double value_at(const double* pointer) { return *pointer; }

 private:
  /// Minimum number of groups of n elements per thread.
  static Index grain(Index n) { return std::max<Index>(1, detail::host_grain / std::max<Index>(1, n)); }

  std::atomic<Index> first_fault_ = -1;
};

}  // namespace lockstep::kernels
