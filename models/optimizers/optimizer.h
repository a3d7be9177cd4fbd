#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/reduce/reducer.h>
#include <lockstep/strategy/variable/variable.h>

namespace lockstep {

/// A rule that moves parameters along their gradients, in Keras' words. A handle: copies are the same optimizer. It
/// belongs to the variables of its first step; under a strategy every replica calls it, in the same order.
class Optimizer {
 public:
  /// This replica's gradients of `loss` (its share of the global loss: they are SUMmed over the replicas), reduced and
  /// applied to every copy of the variables. Uses the tape up. In a replica, or outside every strategy. The gradients
  /// of variables that the first step's tape only looked up rows of are exchanged as IndexedSlices from then on.
  /// A replica that does not use a variable adds nothing to its gradient. Throws InvalidArgument for variables other
  /// than the first step's or in another order on some replica, and when no replica has a gradient of any; LogicError
  /// under a strategy other than its.
  void minimize(GradientTape& tape, const Tensor& loss, const std::vector<Variable>& variables) const;
  /// The same for gradients that are there already, one for each variable; undefined ones count as 0.
  void apply_gradients(std::span<const Tensor> gradients, const std::vector<Variable>& variables) const;
  void apply_gradients(std::span<const DenseOrSparse> gradients, const std::vector<Variable>& variables) const;

  double learning_rate() const;
  /// Throws InvalidArgument unless finite and >= 0, LogicError in a replica.
  void set_learning_rate(double rate) const;
  /// Steps done.
  std::int64_t iterations() const;

  class Rule;

 protected:
  /// Throws as set_learning_rate.
  Optimizer(double learning_rate, std::unique_ptr<const Rule> rule);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep
