#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/kernels/update/update.h>
#include <lockstep/models/config/object_config.h>
#include <lockstep/models/optimizers/optimizer.h>

namespace lockstep {

/// The part of an optimizer that differs between SGD, Adam and the others.
class Optimizer::Rule {
 public:
  virtual ~Rule() = default;
  /// Keras' class and the rule's own options.
  virtual ObjectConfig config() const = 0;
  /// One state value for each parameter.
  struct Slot {
    std::string name;  ///< Keras' name, e.g. "momentum"
    /// The value before the first step.
    float start = 0;
    bool beside_previous = false;  ///< Keras' files store it next to the previous slot, variable by variable
  };
  /// The rule's slots, in the order of UpdateViews::state.
  virtual std::vector<Slot> slots() const = 0;
  /// Step number `t`, from 1. For a rule that scales by norms, the step that writes the direction to the parameter
  /// views.
  virtual OptimizerStep step(float learning_rate, std::int64_t t) const = 0;
  /// Whether a step may move a parameter whose gradient is 0. If not, a step skips the rows of a table that no replica
  /// looked up.
  virtual bool moves_without_gradient() const = 0;
  /// Whether each variable moves along its direction by the learning rate times the ratio of the variable's norm to the
  /// direction's norm (by the learning rate if one of them is 0).
  virtual bool scales_by_norms() const { return false; }
};

}  // namespace lockstep
