#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/optimizers/rule.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/reduce/reducer.h>

namespace lockstep {

/// An optimizer's variables, its state for them, and its steps.
class Optimizer::State {
 public:
  State(const LearningRate& learning_rate, std::unique_ptr<const Rule> rule, const OptimizerOptions& options);

  double learning_rate() const { return learning_rate_.at(steps(0)); }
  void set_learning_rate(double rate);
  void check_numerics(bool on);
  /// Number of steps done; with gradient accumulation, several steps make one update.
  std::int64_t steps(int replica) const;
  std::int64_t iterations(int replica) const { return steps(replica) / options_.gradient_accumulation_steps; }

  /// The first call builds the state for these variables; later calls check that the variables are the same.
  /// `by_rows(i)`: whether this replica's gradient of variable i is sparse (IndexedSlices).
  void prepare(const ReplicaContext& context, const std::vector<Variable>& variables,
               const std::function<bool(std::size_t)>& by_rows);
  void load(const ReplicaContext& context, GradientTape& tape, const Tensor& loss);
  void load(const ReplicaContext& context, std::span<const DenseOrSparse> gradients);
  CapturedGradients capture(const ReplicaContext& context, GpuCapture& capture, GradientTape& tape, const Tensor& loss);
  void load(const ReplicaContext& context, const CapturedGradients& gradients);
  /// Updates the variables with the loaded gradients, or accumulates the gradients for an update.
  void step(const ReplicaContext& context);

  OptimizerConfig config() const;
  void finalize_variable_values() const;
  OptimizerState save() const;
  void restore(const OptimizerState& state);

 private:
  /// Variables that are on the same devices and have the same weight decay. Under a strategy, all variables are on the
  /// same devices, but with_device can spread a model outside strategies over devices. The group's gradient arena and
  /// optimizer state are on these devices.
  struct Group {
    std::vector<LogicalDevice> devices{};
    double weight_decay = 0;
    std::vector<std::size_t> members{};  ///< indices of the group's variables
    std::unique_ptr<GradientReducer> reducer{};
  };

  std::vector<Rule::Slot> slots() const;
  /// Number, counted from 1, of the update that the step after `done` steps makes or contributes to.
  std::int64_t update_number(std::int64_t done) const { return done / options_.gradient_accumulation_steps + 1; }
  /// Returns `transform` if gradients are accumulated or clips_own(), because these gradients must not be exchanged
  /// during the backward pass; otherwise `apply`.
  GradientReducer::AfterBackward after_backward() const;
  bool clips_by_norms() const { return options_.clipnorm > 0 || options_.global_clipnorm > 0; }
  /// The factor that limits the norm of a gradient; as in Keras, 1 for a norm up to the limit. `norm`: the gradient's
  /// norm; `global`: the norm of all gradients together.
  double clip_factor(double norm, double global) const;
  /// Whether each replica clips its own gradients, because they are clipped before the sum or not summed.
  bool clips_own() const { return options_.clip_before_aggregate || !options_.aggregate; }
  /// Whether an update needs the summed gradients of whole variables, to compute with them or for their norms.
  bool needs_sums() const;
  /// Throws Unsupported if replicas cannot update their own copies.
  void check_own_updates(const ReplicaContext& context, const std::vector<Variable>& variables) const;
  /// Clips this replica's gradients, before they are summed.
  void clip_own(const ReplicaContext& context) const;

  void build(const ReplicaContext& context, const std::vector<Variable>& variables, std::vector<bool> by_rows);
  std::vector<Group> grouped(const ReplicaContext& context, const std::vector<Variable>& variables) const;
  /// Throws InvalidArgument unless the state fits these variables.
  void check(const OptimizerState& state, const std::vector<Variable>& variables) const;
  void take_over(const OptimizerState& state);
  /// The reducer of variable number `variable`, and the variable's index in it.
  std::pair<const GradientReducer&, std::size_t> place_of(std::size_t variable) const;
  /// Slot number `slot` of variable number `variable`.
  Tensor value(std::size_t variable, std::size_t slot) const;

  /// The rule's step after `done` steps, with the scaling and clipping of gradients.
  OptimizerStep next_step(std::int64_t done) const;
  void set_gradients(StepOptions& step) const;
  void add_common(StepOptions& step, const Group& group, std::int64_t done) const;
  /// The update of the parameters' averages in the step after `done` steps.
  AverageStep average_step(std::int64_t done) const;
  void accumulate(const ReplicaContext& context, std::int64_t done) const;
  /// Updates with the summed gradients or, if they are not summed, each copy with its replica's gradients.
  void update(const ReplicaContext& context, std::int64_t done) const;
  void update_from_sums(const ReplicaContext& context, std::int64_t done) const;
  /// The factor, by group and variable, that averages and clips the sum of a variable's gradients.
  std::vector<std::vector<float>> gradient_scales(const ReplicaContext& context) const;
  void update_group_by_norms(const ReplicaContext& context, const Group& group, std::span<const float> scales,
                             std::int64_t done) const;
  void update_along_directions(const ReplicaContext& context, const Group& group, std::span<const float> scales,
                               std::int64_t done) const;
  void compute_variables(const ReplicaContext& context, const Group& group, std::span<const float> scales,
                         std::int64_t done) const;
  /// Applies the variables' constraints, after all replicas have updated all copies.
  void constrain(const ReplicaContext& context) const;

  std::shared_ptr<const Rule> rule_;  ///< shared with configurations, which refer to it
  OptimizerOptions options_;
  LearningRate learning_rate_;
  bool checks_numerics_ = false;
  std::optional<OptimizerState> restored_;  ///< loaded before the first step, which takes it over
  // Set at the barrier of the first step.
  std::vector<Variable> variables_;
  std::vector<Variable> constrained_;     ///< the variables that have a constraint
  std::vector<std::vector<bool>> keeps_;  ///< Rule::keeps of each variable's slots, where the rule computes variables
  std::vector<Group> groups_;
  std::shared_ptr<StrategyState> strategy_;  ///< null outside every strategy
  std::vector<std::int64_t> steps_;          ///< one count per replica, so that each replica counts its own steps
};

}  // namespace lockstep
