#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <lockstep/kernels/grid/executor.h>
#include <lockstep/runtime/tensor/tensor.h>

// What kernels/grid/executor.h asks for, on the calling thread of the host: work in an order that no kernel may count
// on, values combined in the tree that CudaExecutor (kernels/cuda/executor.cuh) combines them in.

namespace lockstep::test {

using grid::Index;

/// Calls visit(i) for each i in [0, n), neighbors far from each other and the first ones not first.
template <class Visit>
void scattered(Index n, const Visit& visit) {
  Index step = 7919;  // a prime: where n is not a multiple of it, every i has its turn
  if (n % step == 0) step = 1;
  for (Index turn = n; turn-- > 0;) visit((turn + 1) * step % n);
}

/// Combines values in place by halves, those `width` apart, as the threads of a block do; gives the first.
template <class Value, class Combine>
Value combine_by_halves(std::vector<Value>& values, const Combine& combine) {
  for (std::size_t half = values.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) values[i] = combine(values[i], values[i + half]);
  return values[0];
}

/// A team of `width` threads whose turns are taken one after the other.
class HostTeam {
 public:
  explicit HostTeam(int width) : width_(width) {}

  template <class Value, class Load, class Combine>
  Value reduce(Index n, Value start, const Load& load, const Combine& combine) {
    static_assert(sizeof(Value) <= grid::most_value_bytes);
    std::vector<Value> values(static_cast<std::size_t>(width_), start);
    for (Index rank = width_; rank-- > 0;) {
      Value& value = values[static_cast<std::size_t>(rank)];
      for (Index i = rank; i < n; i += width_) value = combine(value, load(i));
    }
    return combine_by_halves(values, combine);
  }

  template <class Value, class Load, class Combine, class Store>
  void scan(Index n, Value start, const Load& load, const Combine& combine, const Store& store) {
    static_assert(sizeof(Value) <= grid::most_value_bytes);
    Value carried = start;
    for (Index first = 0; first < n; first += width_ * grid::scan_run) {
      std::vector<Value> values(static_cast<std::size_t>(width_), start);
      for_each_of_runs(first, n, [&](std::size_t rank, Index i) { values[rank] = combine(values[rank], load(i)); });
      for (std::size_t distance = 1; distance < values.size(); distance *= 2)
        for (std::size_t rank = values.size(); rank-- > distance;)
          values[rank] = combine(values[rank - distance], values[rank]);
      std::vector<Value> before(values.size(), carried);
      for (std::size_t rank = 1; rank < values.size(); ++rank) before[rank] = combine(carried, values[rank - 1]);
      for_each_of_runs(first, n, [&](std::size_t rank, Index i) {
        const Value through = combine(before[rank], load(i));
        store(i, before[rank], through);
        before[rank] = through;
      });
      carried = combine(carried, values.back());
    }
  }

  template <class Body>
  void each(Index n, const Body& body) {
    scattered(n, body);
  }

  template <class Body>
  void once(const Body& body) {
    body();
  }

 private:
  /// Calls visit(rank, i) for each i in [first, n) of the team's runs from `first` on, those of the last thread first.
  template <class Visit>
  void for_each_of_runs(Index first, Index n, const Visit& visit) const {
    for (Index rank = width_; rank-- > 0;) {
      const Index begin = first + rank * grid::scan_run;
      for (Index i = begin; i < std::min(begin + grid::scan_run, n); ++i) visit(static_cast<std::size_t>(rank), i);
    }
  }

  int width_;
};

/// The places of faults, shared by the copies.
class HostFaults {
 public:
  explicit HostFaults(std::vector<Index>* places) : places_(places) {}
  void operator()(Index place) const { places_->push_back(place); }

 private:
  std::vector<Index>* places_;
};

class HostExecutor {
 public:
  template <class F>
  void for_each(Index n, const F& f) {
    scattered(n, f);
  }

  template <class F>
  void teams(Index count, Index n, const F& f) {
    scattered(count, [&](Index group) {
      HostTeam team(grid::team_width(n));
      f(team, group);
    });
  }

  template <class F>
  void columns(Index outer, Index n, Index inner, const F& f) {
    using Value = typename F::Value;
    scattered(outer * inner, [&](Index column) {
      const Index o = column / inner;
      const Index k = column % inner;
      const int depth = grid::column_depth(inner);
      std::vector<Value> values(static_cast<std::size_t>(depth), f.start());
      for (Index row = 0; row < depth; ++row) {
        Value& value = values[static_cast<std::size_t>(row)];
        for (Index i = row; i < n; i += depth) value = f.combine(value, f.load(o, i, k));
      }
      f.finish(o, k, combine_by_halves(values, [&](const Value& a, const Value& b) { return f.combine(a, b); }));
    });
  }

  template <class F>
  void rows(Index n, Index inner, const F& f) {
    scattered(inner, [&](Index k) {
      const auto kept = f.keep(k);
      scattered(n, [&](Index i) { f.store(kept, f.load(i, k), i, k); });
    });
  }

  grid::SortedKeys sort(const Tensor& keys, Index bound) {
    const std::span<const std::int64_t> unsorted(keys.data<std::int64_t>(), static_cast<std::size_t>(keys.elements()));
    for (const std::int64_t key : unsorted) require(key >= 0 && key < bound, "key {} is not in [0, {})", key, bound);
    std::vector<std::int64_t> places(unsorted.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::stable_sort(places, {}, [&](std::int64_t place) { return unsorted[static_cast<std::size_t>(place)]; });
    // As a kernel writes: a copy from the host would only be enqueued behind it.
    const grid::SortedKeys sorted{Tensor::empty(keys.shape(), DType::i64), Tensor::empty(keys.shape(), DType::i64)};
    for (std::size_t i = 0; i < places.size(); ++i) {
      sorted.keys.data<std::int64_t>()[i] = unsorted[static_cast<std::size_t>(places[i])];
      sorted.places.data<std::int64_t>()[i] = places[i];
    }
    return sorted;
  }

  HostFaults faults(const std::string&) { return HostFaults(&fault_places_); }
  std::int64_t first_fault(const HostFaults&) {
    return fault_places_.empty() ? -1 : *std::ranges::min_element(fault_places_);
  }

  double value_at(const double* pointer) { return *pointer; }

 private:
  std::vector<Index> fault_places_;
};

}  // namespace lockstep::test
