#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// While it exists, collects the losses that layers add on the calling thread (LayerImpl::add_loss), such as the KL
/// term of a VAE. Training and evaluation add the collected losses to the model's loss; a custom loop or train_step
/// must construct a collection before it calls the model. Without a collection, as in predict(), added losses are
/// dropped. Collections nest; the innermost one gets the losses.
///
/// Each loss must be a mean over the examples that the layer gets; a layer must add it even if it gets no examples. A
/// replica with n of the global batch's N examples contributes its mean times n / N, or nothing if n is 0. The
/// replicas' contributions therefore add up to the mean over the global batch, whatever the replicas' numbers of
/// examples. The gradient of a loss must not need a collective, as the gradient of all_reduce does, because replicas
/// without examples do not compute it. Sample weights do not apply.
class AddedLosses {
 public:
  AddedLosses();
  ~AddedLosses();
  AddedLosses(const AddedLosses&) = delete;
  AddedLosses& operator=(const AddedLosses&) = delete;

  /// The sum of the losses, a scalar; undefined if no loss has been added.
  Tensor sum() const;
  /// The calling replica's share of the global batch's added loss: sum() * examples / global_batch_size, where
  /// `examples` is the number of rows of the replica's part. Undefined if no loss has been added or `examples` is 0.
  Tensor share(std::int64_t examples, std::int64_t global_batch_size) const;
  /// Whether a collection exists on the calling thread.
  static bool are_collected();
  /// Adds a loss to the calling thread's innermost collection. Does nothing without a collection, and during a
  /// recomputation by recompute_grad that began after the collection was constructed.
  static void add(const Tensor& loss);

 private:
  std::vector<Tensor> losses_{};
  int depth_;  ///< recomputing_depth() at construction
  AddedLosses* outer_;
};

}  // namespace lockstep
