#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>

// Kernels that read every replica's gradients and write every replica's parameters, in flat f32 memory: the reduction
// and the optimizer's step in one pass. They take pointers instead of tensors, so that they can also update memory of
// other frameworks.

namespace lockstep {

/// The memory of a range of parameters. All copies of the parameters are equal before and after the update.
struct UpdateViews {
  std::span<const float* const> gradients;  ///< one per replica; summed in this order
  std::span<float* const> parameters;       ///< one per copy
  std::span<float* const> state;  ///< one pointer per slot of the rule, then one for the average if it is kept
  std::int64_t count = 0;         ///< elements behind each pointer
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

/// Adam (Kingma and Ba 2015) with the bias correction folded into the step:
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
/// step and w -= b instead. Slots: v; b if momentum != 0; a if centered.
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

/// Adagrad (Duchi et al. 2011): a += g^2; w -= learning_rate * g / sqrt(a + epsilon). Slot: a.
struct AdagradStep {
  ///@{
  /// Symbols of the formula above.
  float learning_rate = 0.001F;
  float epsilon = 1e-7F;
  ///@}
};

/// The direction of LAMB (You et al. 2020). It is written to the parameter views; their old values are not used:
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

/// Operations of a step besides its rule.
struct StepOptions {
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

/// The formula of an optimizer's step and its constants, such as the learning rate; element_rule (element_rule.h) makes
/// it from a functor. on_gpu throws Unsupported for a rule that was compiled for CPUs only.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Number of slots, without the average.
  virtual int slots() const = 0;
  ///@{
  /// Run kernels::Update with this rule: on_cpu with the implementation for CPUs (update_cpu.h), on_host and on_gpu
  /// with code that host and GPUs share (update_shared.h). Precondition: the views pass check_views.
  virtual void on_cpu(const StepOptions& options, const UpdateViews& views) const = 0;
  virtual void on_host(const StepOptions& options, const UpdateViews& views) const = 0;
  virtual void on_gpu(const StepOptions& options, const UpdateViews& views) const = 0;
  ///@}
};

///@{
/// The rule of a step. Throws InvalidArgument for a t below 1.
std::shared_ptr<const UpdateRule> rule_of(const SgdStep& step);
std::shared_ptr<const UpdateRule> rule_of(const AdamStep& step);
std::shared_ptr<const UpdateRule> rule_of(const RmspropStep& step);
std::shared_ptr<const UpdateRule> rule_of(const AdagradStep& step);
std::shared_ptr<const UpdateRule> rule_of(const LambDirectionStep& step);
///@}

/// One step of an optimizer: a rule, and the options that all rules share.
struct OptimizerStep : StepOptions {
  ///@{
  /// The rule alone, without scaling, clipping, decay or average.
  OptimizerStep(std::shared_ptr<const UpdateRule> rule) : rule(std::move(rule)) {}  // NOLINT: implicit
  template <class Step>
  requires requires(const Step& step) { rule_of(step); }
  OptimizerStep(const Step& step) : rule(rule_of(step)) {}  // NOLINT: implicit
  ///@}

  std::shared_ptr<const UpdateRule> rule;  ///< applied after scaling, clipping and decay
};

/// Number of state slots of a step, the average included.
int state_slots(const OptimizerStep& step);

/// Throws InvalidArgument unless the views have gradients, parameters and state_slots(step) slots.
void check_views(const OptimizerStep& step, const UpdateViews& views);

}  // namespace lockstep
