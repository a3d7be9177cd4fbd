#include <algorithm>

#include <lockstep/kernels/backend.h>
#include <lockstep/strategy/reduce/reducer.h>

namespace lockstep {

GradientReducer::GradientReducer(std::vector<Variable> variables, int state_slots,
                                 const std::vector<LogicalDevice>& devices)
    : arena_(std::move(variables), devices),
      buckets_(plan_buckets(arena_.sizes_in_order())),
      has_gradient_(devices.size()) {
  for (int slot = 0; slot < state_slots; ++slot) {
    state_.push_back(Tensor::empty({arena_.elements()}, DType::f32, devices.front()));
    backend(devices.front().kind).fill(state_.back(), 0);
    state_pointers_.push_back(state_.back().data<float>());
  }
}

void GradientReducer::backward(const ReplicaContext& context, GradientTape& tape, const Tensor& loss) {
  require<LogicError>(arena_.holds_variables(), "these variables have been taken over by another optimizer");
  const auto slots = arena_.slots(context.replica_id_in_sync_group());
  bool& any = has_gradient_[static_cast<std::size_t>(context.replica_id_in_sync_group())].any;
  any = false;
  tape.backward(loss, slots, [&](int slot, bool reached) {
    if (!reached) current_backend().fill(slots[slot].destination, 0);
    any |= reached;
  });
}

void GradientReducer::load(const ReplicaContext& context, std::span<const Tensor> gradients) {
  require<LogicError>(arena_.holds_variables(), "these variables have been taken over by another optimizer");
  const auto slots = arena_.slots(context.replica_id_in_sync_group());
  require(gradients.size() == slots.size(), "{} gradients were given for {} variables", gradients.size(), slots.size());
  has_gradient_[static_cast<std::size_t>(context.replica_id_in_sync_group())].any =
      std::any_of(gradients.begin(), gradients.end(), [](const Tensor& g) { return g.defined(); });
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& destination = slots[i].destination;
    if (!gradients[i].defined()) {
      current_backend().fill(destination, 0);
      continue;
    }
    require(gradients[i].shape() == destination.shape() && gradients[i].dtype() == DType::f32,
            "gradient {}, of '{}', must be f32 {}, got {}", i, arena_.variables()[i].name(), destination.shape(),
            gradients[i]);
    current_backend().convert(gradients[i], destination);
  }
}

void GradientReducer::apply(const ReplicaContext& context, const UpdateFn& update) {
  const FlatViews views{arena_.gradients(), arena_.parameters(), state_pointers_};
  // The collective calls this after all replicas have come with their gradients.
  const UpdateFn checked_update = [&](const UpdateViews& part) {
    check_some_gradient();
    update(part);
  };
  context.collective().reduce_and_update(context.replica_id_in_sync_group(), views, buckets_, checked_update);
}

void GradientReducer::check_some_gradient() const {
  require(
      std::any_of(has_gradient_.begin(), has_gradient_.end(), [](const HasGradient& replica) { return replica.any; }),
      "no gradients provided: on no replica does the loss depend on any of the {} variables to optimize",
      arena_.variables().size());
}

}  // namespace lockstep
