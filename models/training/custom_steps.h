#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include <lockstep/runtime/data/dataset.h>

// The program's own train_step and test_step, as in Keras, for Model::compile.

namespace lockstep {

class Model;

/// A replica's contribution to a mean in the logs, such as `{sum(losses), batch.size()}`. The logged value is the total
/// of `sum` over all replicas and steps, divided by the total of `weight`, so that replicas may have different numbers
/// of examples. A contribution of weight 0 is ignored.
struct StepValue {
  /// `sum` is a floating-point scalar tensor on any device, or a number.
  template <std::convertible_to<double> Weight>
  StepValue(std::variant<Tensor, double> sum, Weight weight)
      : sum(std::move(sum)), weight(static_cast<double>(weight)) {}

  std::variant<Tensor, double> sum;  ///< see the constructor
  double weight;                     ///< e.g. the number of the replica's examples
};

/// The values of a step by their names in the logs.
using StepValues = std::map<std::string, StepValue>;

/// A step of one replica, like the function that a custom loop gives to Strategy::run. Called for every batch in every
/// replica, on the replica's thread. `model` is the compiled model. `batch` is the replica's part of the global batch,
/// on the replica's device; it can have 0 rows, and class weights are passed as its sample weights. `global_size` is
/// the number of examples of all replicas. All replicas must make the same collective calls, such as
/// Optimizer::minimize, in the same order, and every call must return the same names. An exception ends the step on all
/// replicas, and the caller of fit() gets it. Do not capture a copy of the model in the function: the model keeps the
/// function, so they would keep each other alive.
using StepFunction = std::function<StepValues(const Model& model, const Batch& batch, std::int64_t global_size)>;

/// Steps that replace the steps of Model::fit and Model::evaluate.
struct CustomSteps {
  /// Keras' train_step: computes the losses and their gradients, and updates variables. StepReport::loss is the value
  /// "loss", or 0 if there is none. fit() adds neither the regularizers' penalties nor AddedLosses to it.
  StepFunction train_step{};
  /// Keras' test_step. Without it, evaluation computes the outputs' losses and metrics.
  StepFunction test_step{};
};

}  // namespace lockstep
