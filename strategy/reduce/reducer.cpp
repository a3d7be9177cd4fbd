#include <algorithm>

#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/ops/indexed_slices.h>
#include <lockstep/strategy/reduce/reducer.h>

namespace lockstep {
namespace {

Tensor dense_of(const DenseOrSparse& gradient) {
  const auto* const rows = std::get_if<IndexedSlices>(&gradient);
  return rows ? to_dense(*rows) : std::get<Tensor>(gradient);
}

}  // namespace

GradientReducer::GradientReducer(std::vector<Variable> variables, int state_slots,
                                 const std::vector<LogicalDevice>& devices, const RowOptions& options)
    : variables_(std::move(variables)), has_gradient_(devices.size()) {
  std::vector<Variable> dense;
  std::vector<Variable> tables;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const bool is_table = !options.by_rows.empty() && options.by_rows.at(i);
    std::vector<Variable>& kind = is_table ? tables : dense;
    places_.push_back({.is_table = is_table, .number = static_cast<int>(kind.size())});
    kind.push_back(variables_[i]);
  }
  if (!tables.empty()) tables_.emplace(std::move(tables), state_slots, options.every_row, devices);
  if (!dense.empty() || !tables_) {
    arena_.emplace(std::move(dense), devices);
    buckets_ = plan_buckets(arena_->sizes_in_order());
    for (int slot = 0; slot < state_slots; ++slot) {
      state_.push_back(Tensor::empty({arena_->elements()}, DType::f32, devices.front()));
      backend(devices.front().kind).fill(state_.back(), 0);
      state_pointers_.push_back(state_.back().data<float>());
    }
  }
  add_slots(static_cast<int>(devices.size()));
}

void GradientReducer::add_slots(int replicas) {
  for (int replica = 0; replica < replicas; ++replica) {
    auto& slots = slots_.emplace_back();
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const Place place = places_[i];
      if (place.is_table)
        slots.push_back({.source = variables_[i].state().copy_for(replica), .may_be_rows = true});
      else
        slots.push_back(arena_->slots(replica)[static_cast<std::size_t>(place.number)]);
    }
  }
}

void GradientReducer::check_arena() const {
  require<LogicError>(!arena_ || arena_->holds_variables(),
                      "these variables have been taken over by another optimizer");
}

void GradientReducer::accept(int replica, std::size_t variable, const DenseOrSparse& gradient) {
  has_gradient_[static_cast<std::size_t>(replica)].any |= is_defined(gradient);
  const Place place = places_[variable];
  if (place.is_table) return tables_->load(replica, place.number, gradient);
  if (!is_defined(gradient)) current_backend().fill(slots_[replica][variable].destination, 0);
}

void GradientReducer::backward(const ReplicaContext& context, GradientTape& tape, const Tensor& loss) {
  check_arena();
  const int replica = context.replica_id_in_sync_group();
  has_gradient_[static_cast<std::size_t>(replica)].any = false;
  tape.backward(loss, slots_[static_cast<std::size_t>(replica)], [&](int slot, const DenseOrSparse& gradient) {
    accept(replica, static_cast<std::size_t>(slot), gradient);
  });
}

void GradientReducer::load(const ReplicaContext& context, std::span<const DenseOrSparse> gradients) {
  check_arena();
  require(gradients.size() == variables_.size(), "{} gradients were given for {} variables", gradients.size(),
          variables_.size());
  const int replica = context.replica_id_in_sync_group();
  has_gradient_[static_cast<std::size_t>(replica)].any = false;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (is_defined(gradients[i])) {
      check_fits(i, gradients[i]);
      if (!places_[i].is_table) current_backend().convert(dense_of(gradients[i]), slots_[replica][i].destination);
    }
    accept(replica, i, gradients[i]);
  }
}

void GradientReducer::check_fits(std::size_t variable, const DenseOrSparse& gradient) const {
  const auto* const rows = std::get_if<IndexedSlices>(&gradient);
  const Tensor& values = rows ? rows->values : std::get<Tensor>(gradient);
  const Shape& shape = rows ? rows->dense_shape : values.shape();
  const Variable& of = variables_[variable];
  require(shape == of.shape() && values.dtype() == DType::f32, "gradient {}, of '{}', must be f32 {}, got {}", variable,
          of.name(), of.shape(), rows ? rows->text() : values.text());
}

void GradientReducer::apply(const ReplicaContext& context, const UpdateFn& update) {
  // The collectives call this after all replicas have come with their gradients.
  const UpdateFn checked_update = [&](const UpdateViews& part) {
    check_some_gradient();
    update(part);
  };
  if (arena_) {
    const FlatViews views{arena_->gradients(), arena_->parameters(), state_pointers_};
    context.collective().reduce_and_update(context.replica_id_in_sync_group(), views, buckets_, checked_update);
  }
  if (!tables_) return;
  if (!arena_) {
    context.meet("the optimizer's step");
    check_some_gradient();
  }
  tables_->apply(context, update);
}

void GradientReducer::check_some_gradient() const {
  require(
      std::any_of(has_gradient_.begin(), has_gradient_.end(), [](const HasGradient& replica) { return replica.any; }),
      "no gradients provided: on no replica does the loss depend on any of the {} variables to optimize",
      variables_.size());
}

}  // namespace lockstep
