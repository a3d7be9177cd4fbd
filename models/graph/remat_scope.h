#pragma once

#include <cstdint>

namespace lockstep {

/// Keras' RematScope, for the calling thread: the calls of layers and models on symbols during its lifetime form a
/// block whose tensors tapes do not keep. A tape keeps only what the block reads from outside, and calls the block's
/// layers again before it differentiates them, as recompute_grad does: gradients are bit-identical, and statistics are
/// updated once. A scope inside another one has no effect. If the network runs other layers between calls of one scope,
/// these calls form several blocks. The variables of a block, including statistics that it reads in Mode::inference,
/// must not change before the gradients have been computed.
///
/// In a training step captured as a CUDA graph, the inputs and results of dropout, and of attention with dropout, stay
/// in memory, those of the first calls as well as those of the repeated ones, because each launch of the graph computes
/// them again with new random numbers.
///
/// Keras' scope recomputes each layer that was constructed in it separately; this one recomputes all calls that were
/// made in it together. As in Keras, files of models do not contain scopes: a loaded model keeps all tensors.
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
