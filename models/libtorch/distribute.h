#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <torch/data/example.h>
#include <torch/types.h>

#include <lockstep/models/libtorch/tensor.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/core/strategy.h>
#include <lockstep/strategy/input/batch_split.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep::libtorch {

///@{
/// Number of rows of a batch: the size of a tensor's first axis, or the number of elements of a vector. Throws
/// InvalidArgument if data and target of an Example have different numbers of rows. To distribute batches of your own
/// type, define rows_of and narrow_rows for it in its namespace.
inline std::int64_t rows_of(const torch::Tensor& batch) { return batch.size(0); }
template <class Row>
std::int64_t rows_of(const std::vector<Row>& batch) {
  return static_cast<std::int64_t>(batch.size());
}
template <class Data, class Target>
std::int64_t rows_of(const torch::data::Example<Data, Target>& batch) {
  const std::int64_t rows = rows_of(batch.data);
  if constexpr (!std::is_void_v<Target>)
    require(rows_of(batch.target) == rows, "the batch has {} rows of data and {} of targets", rows,
            rows_of(batch.target));
  return rows;
}
///@}
///@{
/// Rows [begin, begin + count) of a batch. Tensors are views.
inline torch::Tensor narrow_rows(const torch::Tensor& batch, std::int64_t begin, std::int64_t count) {
  return batch.narrow(0, begin, count);
}
template <class Row>
std::vector<Row> narrow_rows(const std::vector<Row>& batch, std::int64_t begin, std::int64_t count) {
  return {batch.begin() + begin, batch.begin() + begin + count};
}
template <class Data, class Target>
torch::data::Example<Data, Target> narrow_rows(const torch::data::Example<Data, Target>& batch, std::int64_t begin,
                                               std::int64_t count) {
  if constexpr (std::is_void_v<Target>)
    return {narrow_rows(batch.data, begin, count)};
  else
    return {narrow_rows(batch.data, begin, count), narrow_rows(batch.target, begin, count)};
}
///@}

/// A global batch, split over the replicas. If it is an argument of `Strategy::run`, each replica's step gets the
/// replica's part as `const Rows&`. With fewer rows than replicas, some parts have no rows.
template <class Rows>
class ReplicaBatches {
 public:
  /// Splits `global` by split_rows.
  ReplicaBatches(const Strategy& strategy, const Rows& global) : global_size_(rows_of(global)) {
    const std::vector<std::int64_t> counts = split_rows(global_size_, strategy.num_replicas_in_sync());
    const int first = strategy.state()->first_replica();
    std::int64_t begin = 0;
    for (int replica = 0; replica < first + strategy.num_local_replicas(); ++replica) {
      const std::int64_t count = counts[static_cast<std::size_t>(replica)];
      if (replica >= first) parts_.push_back(narrow_rows(global, begin, count));
      begin += count;
    }
  }
  /// `parts` has one element for each replica of this process; `global_size` is the number of rows of all replicas.
  ReplicaBatches(std::vector<Rows> parts, std::int64_t global_size)
      : parts_(std::move(parts)), global_size_(global_size) {}

  /// Number of rows of all replicas: the divisor of a sum of losses.
  std::int64_t global_size() const { return global_size_; }
  /// The parts of this process's replicas, in replica order.
  const std::vector<Rows>& parts() const { return parts_; }

 private:
  std::vector<Rows> parts_;
  std::int64_t global_size_;
};

/// The part of this process's replica number `replica`, for Strategy::run.
template <class Rows>
const Rows& value_for_replica(const ReplicaBatches<Rows>& batch, int replica) {
  return batch.parts().at(static_cast<std::size_t>(replica));
}
/// Number of this process's replicas, which is the number of parts.
template <class Rows>
int replicas_of(const ReplicaBatches<Rows>& batch) {
  return static_cast<int>(batch.parts().size());
}
/// The number of rows in the part of replica number `replica`, and the number of rows of the global batch.
template <class Rows>
std::optional<BatchRows> batch_rows(const ReplicaBatches<Rows>& batch, int replica) {
  return BatchRows{.own = rows_of(value_for_replica(batch, replica)), .all = batch.global_size()};
}

/// A pass over a loader's batches, split over the replicas.
template <class Loader>
class DistributedLoader {
 public:
  /// `loader` must outlive this.
  DistributedLoader(Strategy strategy, Loader& loader) : strategy_(std::move(strategy)), loader_(&loader) {}

  /// An input iterator over ReplicaBatches.
  class Iterator {
   public:
    using Inner = decltype(std::declval<Loader&>().begin());                        ///< the loader's iterator
    using Batch = ReplicaBatches<std::decay_t<decltype(*std::declval<Inner&>())>>;  ///< the type that `*` returns

    /// At the position of `inner`.
    Iterator(Inner inner, const Strategy& strategy) : inner_(std::move(inner)), strategy_(strategy) {}
    ///@{
    /// The operations that range-based for loops need. They notify the other workers of the loader's errors.
    Batch operator*() {
      return notify_on_failure(strategy_.state()->cluster(), [&] { return Batch(strategy_, *inner_); });
    }
    Iterator& operator++() {
      notify_on_failure(strategy_.state()->cluster(), [&] { ++inner_; });
      return *this;
    }
    bool operator!=(const Iterator& other) const { return inner_ != other.inner_; }
    ///@}

   private:
    Inner inner_;
    Strategy strategy_;
  };

  ///@{
  /// begin() starts a pass, and notifies the other workers of the loader's errors; end() marks the end of a pass.
  Iterator begin() {
    return {notify_on_failure(strategy_.state()->cluster(), [&] { return loader_->begin(); }), strategy_};
  }
  Iterator end() { return {loader_->end(), strategy_}; }
  ///@}

 private:
  Strategy strategy_;
  Loader* loader_;
};

/// Splits the batches of a libtorch data loader, or of any range of batches, over the replicas. With several processes,
/// the loaders of all processes must give the same batches. `loader` must outlive the result.
///
///     for (auto&& batch : libtorch::distribute(strategy, *loader)) ...
template <class Loader>
DistributedLoader<Loader> distribute(const Strategy& strategy, Loader& loader) {
  return {strategy, loader};
}

/// The first input and the first target of a part of a lockstep data set's batch, as libtorch tensors that share its
/// memory; the target is undefined if the part has none. Precondition: the part is in host memory.
torch::data::Example<> as_example(const Batch& part);

}  // namespace lockstep::libtorch
