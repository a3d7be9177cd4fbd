#pragma once

#include <cstdint>

namespace lockstep {

/// Keras' RematScope, for the calling thread: layers and models called on symbols in its lifetime form a block whose
/// tensors tapes do not keep. A tape keeps only what the block reads from outside, and calls its layers again before it
/// differentiates them, as recompute_grad does: gradients have the same bits, statistics are updated once. In scopes
/// inside each other, the outermost one decides. Calls of one scope between which the network runs other layers form
/// several blocks. The variables of a block, including statistics that it reads in Mode::inference, must not change
/// before the gradients have been computed.
///
/// Steps that CUDA graphs capture keep the inputs and results of dropout, and of attention with dropout, in spite of a
/// scope and even twice, because each launch draws other numbers for them.
///
/// Whereas Keras' scope recomputes each layer made in it on its own, this one recomputes the calls made in it together.
/// As in Keras, files of models do not contain it: a loaded model keeps all tensors.
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
