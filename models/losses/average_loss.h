#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/runtime/tensor/tensor.h>

// One replica's share of the global batch's loss, for custom training loops: the replicas'
// values are summed by `reduce`, and their gradients by `minimize`.

namespace lockstep {

/// compute_average_loss' options, by TensorFlow's names.
struct AverageLossOptions {
  Tensor sample_weight{};  ///< of per_example_loss' shape, if defined
  /// Examples of all replicas, as DistributedBatch::global_size says; if not given, this replica's number times the
  /// replicas, which is wrong for uneven batches.
  std::optional<std::int64_t> global_batch_size{};
};

/// sum(per_example_loss [* sample_weight]) / global_batch_size, a scalar; 0 for an empty global batch. For losses (n)
/// of one value for each example. Throws LogicError in a strategy's scope outside `run`.
Tensor compute_average_loss(const Tensor& per_example_loss, const AverageLossOptions& options = {});

/// sum(loss) / replicas: for a loss that does not depend on the examples, such as that of a regularizer.
/// Throws LogicError in a strategy's scope outside `run`.
Tensor scale_regularization_loss(const Tensor& loss);

}  // namespace lockstep
