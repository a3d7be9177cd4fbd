#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>

// Kernels on flat f32 memory that read every replica's gradients and write every replica's parameters: the reduction
// and the optimizer's step in one pass. They do not use tensors, so that memory of other frameworks can be updated,
// too.

namespace lockstep {

/// A range of parameters. All copies are equal before and after the update.
struct UpdateViews {
  std::span<const float* const> gradients;  ///< one per replica; summed in this order
  std::span<float* const> parameters;       ///< one per copy
  std::span<float* const> state;            ///< the rule's slots, then the average if kept; one copy
  std::int64_t count = 0;                   ///< elements behind each pointer
};

// The rules of Keras 3; w is a parameter, g its gradient, t the number of the step, from 1.

/// v = momentum * v - learning_rate * g; w += v, or with nesterov w += momentum * v - learning_rate * g.
/// One slot when momentum != 0: v.
struct SgdStep {
  ///@{
  /// Symbols of the formula above.
  float learning_rate = 0.01F;
  float momentum = 0;
  bool nesterov = false;
  ///@}
};

/// Kingma and Ba 2015 with the bias correction folded into the step:
/// w -= learning_rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon). Slots: m, v, and with amsgrad
/// (Reddi et al. 2018) the largest v so far, which then takes v's place in the formula.
struct AdamStep {
  ///@{
  /// Symbols of the formula above.
  float learning_rate = 0.001F;
  double beta_1 = 0.9;  // double, as 1 - beta would lose digits of a float
  double beta_2 = 0.999;
  float epsilon = 1e-7F;
  bool amsgrad = false;
  std::int64_t t = 1;
  ///@}
};

/// Hinton's RMSprop: v = rho * v + (1 - rho) * g^2; step = learning_rate * g / sqrt(v + epsilon); w -= step. If
/// centered, v - a^2 replaces v in the root, with a = rho * a + (1 - rho) * g. If momentum != 0, b = momentum * b +
/// step and w -= b instead. Slots: v, b when momentum != 0, a when centered.
struct RmspropStep {
  ///@{
  /// Symbols of the formula above.
  float learning_rate = 0.001F;
  double rho = 0.9;
  float momentum = 0;
  float epsilon = 1e-7F;
  bool centered = false;
  ///@}
};

/// Duchi et al. 2011: a += g^2; w -= learning_rate * g / sqrt(a + epsilon). Slot: a.
struct AdagradStep {
  ///@{
  /// Symbols of the formula above.
  float learning_rate = 0.001F;
  float epsilon = 1e-7F;
  ///@}
};

/// The direction of LAMB (You et al. 2020), written to the parameter views without reading them:
/// m / (1 - beta_1^t) / (sqrt(v / (1 - beta_2^t)) + epsilon). Slots: m, v.
struct LambDirectionStep {
  ///@{
  /// Symbols of the formula above.
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  float epsilon = 1e-7F;
  std::int64_t t = 1;
  ///@}
};

/// One step of an optimizer: a rule, and the options that all rules share.
struct OptimizerStep {
  /// The formula and its constants.
  using Rule = std::variant<SgdStep, AdamStep, RmspropStep, AdagradStep, LambDirectionStep>;

  /// The rule alone, without scaling, clipping, decay or average.
  template <std::convertible_to<Rule> Of>
  OptimizerStep(const Of& of) : rule(of) {}  // NOLINT: implicit, a rule alone is a step

  Rule rule;                                                  ///< applied after scaling, clipping and decay
  float gradient_scale = 1;                                   ///< factor of the sum of the gradients
  float clip_value = std::numeric_limits<float>::infinity();  ///< the scaled gradient is clipped to +-clip_value
  float decay = 0;                                            ///< w -= decay * w before the rule

  /// Whether to keep a moving average of the parameters, and whether it overwrites them.
  enum class Average { none, keep, overwrite };
  /// After the rule, in the last slot: average = average_momentum * average + (1 - average_momentum) * w; `overwrite`
  /// then sets w = average.
  Average average = Average::none;
  float average_momentum = 0.99F;  ///< in [0, 1]
};

/// Number of state slots of a step, the average included.
int state_slots(const OptimizerStep& step);

/// Throws InvalidArgument unless the views have gradients, parameters and state_slots(step) slots, and t >= 1.
void check_views(const OptimizerStep& step, const UpdateViews& views);

}  // namespace lockstep
