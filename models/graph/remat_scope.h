#pragma once

#include <cstdint>

namespace lockstep {

/// Keras' RematScope, for the calling thread: the calls of layers and models on symbols during its lifetime form a
/// block. A tape does not keep the tensors of a block, only the tensors that the block reads from outside. Before it
/// differentiates the block's layers, it calls them again, as recompute_grad does: gradients are bit-identical, and
/// statistics are updated once. A scope inside another one has no effect. If the network runs other layers between
/// calls of one scope, these calls form several blocks. The variables of a block, including statistics that it reads in
/// Mode::inference, must not change before the gradients have been computed.
///
/// RematScope saves no memory for dropout, or for attention with dropout, in a step captured as a CUDA graph. Each
/// launch of the graph runs these ops on the same memory with new random numbers. Their inputs and results therefore
/// stay allocated, both in the forward pass and in the recomputation.
///
/// Keras' scope applies to the layers that are constructed in it and recomputes each of these layers separately; this
/// scope applies to the calls that are made in it and recomputes all of them together. As in Keras, files of models do
/// not contain scopes: a loaded model keeps all tensors.
class [[nodiscard]] RematScope {
 public:
  /// Opens a scope.
  RematScope();
  ~RematScope();
  RematScope(const RematScope&) = delete;
  RematScope& operator=(const RematScope&) = delete;

  /// The scope's number, above 0 and different for each scope of the program.
  std::uint64_t number() const { return number_; }
  /// The number of the calling thread's outermost scope; 0 if there is none.
  static std::uint64_t current();

 private:
  std::uint64_t number_;
  bool outermost_;
};

}  // namespace lockstep
