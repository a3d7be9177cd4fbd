#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/kernels/update/update.h>
#include <lockstep/models/config/object_config.h>
#include <lockstep/models/optimizers/optimizer.h>

namespace lockstep {

/// The step of a kind of optimizer: the difference between SGD, Adam and the others.
class Optimizer::Rule {
 public:
  virtual ~Rule() = default;
  /// Keras' class, and the rule's own options.
  virtual ObjectConfig config() const = 0;
  /// A state value for each parameter.
  struct Slot {
    std::string name;  ///< Keras' name, e.g. "momentum"
    /// Its value before the first step.
    float start = 0;
    bool beside_previous = false;  ///< Keras' files have both for one variable before those for the next
  };
  /// Its state values, in the order of OptimizerStep's state.
  virtual std::vector<Slot> slots() const = 0;
  /// Step number `t`, from 1. Of a rule that scales by norms, the direction that is written in the parameters' place.
  virtual OptimizerStep step(float learning_rate, std::int64_t t) const = 0;
  /// Whether a step may move a parameter whose gradient is 0; if not, rows of a table that nobody looked up are left
  /// alone.
  virtual bool moves_without_gradient() const = 0;
  /// Whether each variable moves along its direction by the learning rate times the ratio of its norm and the
  /// direction's, or the learning rate where one of them is 0.
  virtual bool scales_by_norms() const { return false; }
};

}  // namespace lockstep
