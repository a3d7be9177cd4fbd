#include "lockstep/models/losses/average_loss.h"

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {

Tensor compute_average_loss(const Tensor& per_example_loss, const AverageLossOptions& options) {
  const ReplicaContext context = get_replica_context();
  require(per_example_loss.defined() && per_example_loss.rank() >= 1,
          "compute_average_loss takes one loss for each example, got {}", per_example_loss);
  const Tensor& weight = options.sample_weight;
  require(!weight.defined() || weight.shape() == per_example_loss.shape(),
          "compute_average_loss needs weights of the losses' shape {}, got {}", per_example_loss.shape(), weight);
  const std::int64_t examples =
      options.global_batch_size.value_or(per_example_loss.dim(0) * context.num_replicas_in_sync());
  require(examples >= 0, "a global batch has at least 0 examples, got {}", examples);
  const Tensor total = sum(weight.defined() ? per_example_loss * weight : per_example_loss);
  return examples == 0 ? total * 0.0 : total / static_cast<double>(examples);
}

Tensor scale_regularization_loss(const Tensor& loss) {
  return sum(loss) / static_cast<double>(get_replica_context().num_replicas_in_sync());
}

}  // namespace lockstep
