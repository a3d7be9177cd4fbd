#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/kernels/update/update.h>
#include <lockstep/models/config/object_config.h>
#include <lockstep/models/optimizers/optimizer.h>

namespace lockstep {

/// The step of one variable, for Optimizer::Rule::compute. Tensors are dense f32 of the variable's shape, on the
/// current device, and share no memory with the variable or the optimizer's state.
struct VariableStep {
  const Variable& variable;        ///< used for its name; its value is in `value`
  const std::vector<bool>& keeps;  ///< Rule::keeps of each slot of the variable
  double learning_rate;            ///< learning rate of this step
  std::int64_t t;                  ///< number of the update, counted from 1
  Tensor gradient{};               ///< gradient of the global batch, scaled and clipped
  Tensor value{};  ///< the parameters after weight decay; `compute` replaces them with the new parameters
  /// The variable's slots, in the order of Rule::slots; `compute` replaces these as well. A slot that is not kept for
  /// the variable is an undefined tensor before and after `compute`.
  std::vector<Tensor> slots{};
};

/// The part of an optimizer that differs between SGD, Adam and the others. A rule overrides either `step`, to update
/// all variables element by element in one pass, or both `computes_variables` and `compute`, to update each variable by
/// ops. Replicas call it concurrently.
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
    /// Keras' files interleave this slot with the previous one: both slots of the first variable, then both of the
    /// second, and so on. (Keras before TensorFlow 2.11 wrote one slot after the other.)
    bool beside_previous = false;
    /// A negative axis along which all values are equal, so that Keras' files leave it out; 0 if there is no such axis.
    /// If such a slot is not kept for a variable, files have the integer 0 in its place.
    int left_out_axis = 0;
  };
  /// The rule's slots, in the order of UpdateViews::state.
  virtual std::vector<Slot> slots() const = 0;
  /// Whether Keras keeps this slot for the variable. If not, the slot keeps its start value, and files omit it or, if
  /// it has a left_out_axis, store the integer 0 instead. Only a rule that computes variables may return false. The
  /// result must depend only on the slot and the variable's name and shape. Called for each variable and slot when
  /// files are written or read and, if the rule computes variables, when the optimizer is built.
  virtual bool keeps(const Slot& /*slot*/, const Variable& /*variable*/) const { return true; }
  /// The weight decay of a variable that exclude_from_weight_decay does not name. `common` is
  /// OptimizerOptions::weight_decay.
  virtual double weight_decay(const Variable& /*variable*/, double common) const { return common; }
  /// Keras' state values that belong to the optimizer rather than to a variable, as they are after `updates` updates.
  /// Files store them after the slots; readers ignore them, because they follow from the number of updates.
  virtual std::vector<double> scalars(std::int64_t /*updates*/) const { return {}; }
  /// Whether a step may change a parameter, or the parameter's slots, if the parameter's gradient is 0. If false, a
  /// step without weight decay and use_ema skips the rows of a table that no replica looked up.
  virtual bool moves_without_gradient() const { return true; }

  /// Returns the step of update `t` (counted from 1), e.g. one that element_rule() makes from a functor. With
  /// scales_by_norms(), the returned step writes the direction d to UpdateViews::parameters, as LambDirectionStep does.
  /// The default throws Unsupported: override it unless computes_variables() is true.
  virtual OptimizerStep step(float learning_rate, std::int64_t t) const;
  /// Whether updates are scaled by LAMB's trust ratio |w| / |d|, which is 1 if |w| or |d| is 0: w -= learning_rate *
  /// |w| / |d| * d, where w is the variable after weight decay and d is the direction that `step` computes.
  virtual bool scales_by_norms() const { return false; }

  /// Whether `compute` updates the variables instead of `step`. If so, one replica updates each variable and writes all
  /// copies. Replicas that cannot access each other's memory, such as replicas of several workers, each update their
  /// own copy; the copies then stay equal only if `compute` gives bit-identical results on all replicas, as on
  /// identical CPUs or identical GPUs. All gradients are exchanged as dense tensors.
  virtual bool computes_variables() const { return false; }
  /// Computes a variable's new value and slots with ops. If it throws, or if a result does not have the variable's
  /// shape and dtype, the optimizer's step throws. The default throws Unsupported: override it if computes_variables()
  /// is true.
  virtual void compute(VariableStep& step) const;
};

}  // namespace lockstep
