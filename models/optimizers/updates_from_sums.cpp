#include <cmath>

#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/models/optimizers/computed_step.h>
#include <lockstep/models/optimizers/state.h>

// Updates that need the summed gradients of whole variables, to compute with them or for their norms.

namespace lockstep {

void Optimizer::State::update_from_sums(const ReplicaContext& context, std::int64_t done) const {
  for (const Group& group : groups_) group.reducer->sum_gradients(context);
  const std::vector<std::vector<float>> scales = gradient_scales(context);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (rule_->computes_variables())
      compute_variables(context, groups_[i], scales[i], done);
    else if (rule_->scales_by_norms())
      update_along_directions(context, groups_[i], scales[i], done);
    else
      update_group_by_norms(context, groups_[i], scales[i], done);
  }
}

std::vector<std::vector<float>> Optimizer::State::gradient_scales(const ReplicaContext& context) const {
  const double average = 1.0 / options_.gradient_accumulation_steps;
  const bool clips = clips_by_norms() && !clips_own();
  std::vector<std::vector<double>> squares;
  double total = 0;
  for (const Group& group : groups_) {
    squares.emplace_back(group.members.size());
    if (clips) squares.back() = group.reducer->squared_norms(context, GradientReducer::ArenaBuffer::gradients);
    for (const double square : squares.back()) total += square;
  }
  std::vector<std::vector<float>> scales;
  for (const std::vector<double>& of_group : squares) {
    auto& result = scales.emplace_back();
    for (const double square : of_group) {
      double scale = average;
      if (clips) scale *= clip_factor(average * std::sqrt(square), average * std::sqrt(total));
      result.push_back(static_cast<float>(scale));
    }
  }
  return scales;
}

void Optimizer::State::update_group_by_norms(const ReplicaContext& context, const Group& group,
                                             std::span<const float> scales, std::int64_t done) const {
  OptimizerStep step = next_step(done);
  add_common(step, group, done);
  group.reducer->update_by_variable(context, GradientReducer::ArenaBuffer::parameters,
                                    [&](std::size_t variable, const UpdateViews& views) {
                                      OptimizerStep own = step;
                                      own.gradient_scale = scales[variable];
                                      launch(kernels::Update{own, views});
                                    });
}

void Optimizer::State::update_along_directions(const ReplicaContext& context, const Group& group,
                                               std::span<const float> scales, std::int64_t done) const {
  const std::size_t rule_slots = rule_->slots().size();
  const OptimizerStep direction = next_step(done);
  group.reducer->update_by_variable(
      context, GradientReducer::ArenaBuffer::gradients, [&](std::size_t variable, const UpdateViews& views) {
        OptimizerStep own = direction;
        own.gradient_scale = scales[variable];
        launch(kernels::Update{own, {views.gradients, views.parameters, views.state.first(rule_slots), views.count}});
      });

  OptimizerStep step = SgdStep{.learning_rate = 1};  // the rate is in the scale, which differs between variables
  add_common(step, group, done);
  const auto directions = group.reducer->squared_norms(context, GradientReducer::ArenaBuffer::gradients);
  const auto parameters = group.reducer->squared_norms(context, GradientReducer::ArenaBuffer::parameters);
  group.reducer->update_by_variable(
      context, GradientReducer::ArenaBuffer::parameters, [&](std::size_t variable, const UpdateViews& views) {
        const double norm = std::sqrt(parameters[variable]) * (1 - static_cast<double>(step.decay));
        const double ratio = norm > 0 && directions[variable] > 0 ? norm / std::sqrt(directions[variable]) : 1;
        OptimizerStep own = step;
        own.gradient_scale = static_cast<float>(learning_rate_.at(done) * ratio);
        const auto average = views.state.subspan(rule_slots);
        launch(kernels::Update{own, {views.gradients, views.parameters, average, views.count}});
      });
}

void Optimizer::State::compute_variables(const ReplicaContext& context, const Group& group,
                                         std::span<const float> scales, std::int64_t done) const {
  StepOptions step;
  set_gradients(step);
  add_common(step, group, done);
  group.reducer->update_by_variable(
      context, GradientReducer::ArenaBuffer::parameters,
      [&](std::size_t variable, const UpdateViews& views) {
        StepOptions own = step;
        own.gradient_scale = scales[variable];
        VariableStep computed{.variable = variables_[group.members[variable]],
                              .keeps = keeps_[group.members[variable]],
                              .learning_rate = learning_rate_.at(done),
                              .t = update_number(done)};
        compute_step(*rule_, own, computed, context.local_replica(), views);
      },
      GradientReducer::Parts::whole);
}

}  // namespace lockstep
