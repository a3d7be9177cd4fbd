#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/runtime/tensor/tensor.h>

// One replica's share of the global batch's loss, for custom training loops. `reduce(ReduceOp::sum, ...)` adds the
// replicas' shares, and `minimize` adds their gradients.

namespace lockstep {

/// compute_average_loss' options, by TensorFlow's names.
struct AverageLossOptions {
  Tensor sample_weight{};  ///< has per_example_loss' shape; undefined: all weights are 1
  /// Number of examples of all replicas, such as DistributedBatch::global_size. By default this replica's number of
  /// examples times the number of replicas, which is wrong for uneven batches.
  std::optional<std::int64_t> global_batch_size{};
};

/// sum(per_example_loss [* sample_weight]) / global_batch_size, a scalar; 0 for an empty global batch.
/// `per_example_loss` is (n), one value for each example, or (n, ...). The loss, sample_weight and the result have the
/// same dtype, f32 or bf16. Throws InvalidArgument for an undefined or scalar loss, for a sample_weight of another
/// shape and for a negative global_batch_size. Throws LogicError in a strategy's scope outside `run`.
Tensor compute_average_loss(const Tensor& per_example_loss, const AverageLossOptions& options = {});

/// sum(loss) / number of replicas, for a loss of any shape that does not depend on the examples, such as a
/// regularizer's penalty. Returns a scalar of the loss's dtype. Throws LogicError in a strategy's scope outside `run`.
Tensor scale_regularization_loss(const Tensor& loss);

}  // namespace lockstep
