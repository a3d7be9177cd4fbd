#include <algorithm>

#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/ops/indexed_slices.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/collective/flat_range.h>
#include <lockstep/strategy/reduce/reducer.h>

namespace lockstep {
namespace {

Tensor dense_of(const DenseOrSparse& gradient) {
  const auto* const rows = std::get_if<IndexedSlices>(&gradient);
  return rows ? to_dense(*rows) : std::get<Tensor>(gradient);
}

}  // namespace

GradientReducer::GradientReducer(std::vector<Variable> variables, const std::vector<LogicalDevice>& devices,
                                 const ReducerOptions& options)
    : variables_(std::move(variables)), own_(devices.size()) {
  std::vector<Variable> dense;
  std::vector<Variable> tables;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const bool is_table = !options.by_rows.empty() && options.by_rows.at(i);
    std::vector<Variable>& kind = is_table ? tables : dense;
    places_.push_back({.is_table = is_table, .number = static_cast<int>(kind.size())});
    kind.push_back(variables_[i]);
  }
  if (!dense.empty() || tables.empty()) add_arena(std::move(dense), options.slots, devices);
  if (!tables.empty()) tables_.emplace(std::move(tables), options.slots, options.every_row, devices);
  add_slots(static_cast<int>(devices.size()));
}

void GradientReducer::add_arena(std::vector<Variable> variables, const std::vector<float>& slots,
                                const std::vector<LogicalDevice>& devices) {
  arena_.emplace(std::move(variables), devices);
  buckets_ = plan_buckets(arena_->sizes_in_order());
  for (const float start : slots) {
    state_.push_back(Tensor::empty({arena_->elements()}, DType::f32, devices.front()));
    backend(devices.front().kind).fill(state_.back(), start);
    state_pointers_.push_back(state_.back().data<float>());
  }
}

Tensor GradientReducer::state(std::size_t variable, std::size_t slot) const {
  const Place place = places_.at(variable);
  if (place.is_table) return tables_->state(place.number, slot);
  const FlatRange range = arena_->range_of(place.number);
  return state_.at(slot).slice_view(0, range.begin, range.end).view(variables_[variable].shape());
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

void GradientReducer::check_ownership() const {
  require<LogicError>((!arena_ || arena_->holds_variables()) && (!tables_ || tables_->holds_variables()),
                      "these variables have been taken over by another optimizer");
}

void GradientReducer::accept(int replica, std::size_t variable, const DenseOrSparse& gradient) {
  Own& own = own_[static_cast<std::size_t>(replica)];
  own.has_gradient = own.has_gradient || is_defined(gradient);
  const Place place = places_[variable];
  if (place.is_table) return tables_->load(replica, place.number, gradient);
  if (!is_defined(gradient)) current_backend().fill(slots_[replica][variable].destination, 0);
}

void GradientReducer::backward(const ReplicaContext& context, GradientTape& tape, const Tensor& loss) {
  check_ownership();
  const int replica = context.replica_id_in_sync_group();
  Own& own = own_[static_cast<std::size_t>(replica)];
  own.has_gradient = own.has_accumulated;
  tape.backward(loss, slots_[static_cast<std::size_t>(replica)], [&](int slot, const DenseOrSparse& gradient) {
    accept(replica, static_cast<std::size_t>(slot), gradient);
  });
}

void GradientReducer::load(const ReplicaContext& context, std::span<const DenseOrSparse> gradients) {
  check_ownership();
  require(gradients.size() == variables_.size(), "{} gradients were given for {} variables", gradients.size(),
          variables_.size());
  const int replica = context.replica_id_in_sync_group();
  Own& own = own_[static_cast<std::size_t>(replica)];
  own.has_gradient = own.has_accumulated;
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

Tensor GradientReducer::own_gradient(const ReplicaContext& context, std::size_t variable) const {
  return slots_[static_cast<std::size_t>(context.replica_id_in_sync_group())].at(variable).destination;
}

void GradientReducer::accumulate(const ReplicaContext& context) {
  const int replica = context.replica_id_in_sync_group();
  Own& own = own_[static_cast<std::size_t>(replica)];
  if (arena_) {
    const Tensor& gradients = arena_->gradients_of(replica);
    if (!own.accumulated.defined()) own.accumulated = Tensor::empty(gradients.shape());
    if (own.has_accumulated)
      current_backend().accumulate(gradients, 1, own.accumulated);
    else
      copy(gradients, own.accumulated);
  }
  if (tables_) tables_->accumulate(replica);
  own.has_accumulated = own.has_accumulated || own.has_gradient;
}

void GradientReducer::add_accumulated(int replica) {
  Own& own = own_[static_cast<std::size_t>(replica)];
  if (!own.has_accumulated) return;
  if (arena_) current_backend().accumulate(own.accumulated, 1, arena_->gradients_of(replica));
  own.has_accumulated = false;
}

void GradientReducer::apply(const ReplicaContext& context, const UpdateFn& update) {
  const int replica = context.replica_id_in_sync_group();
  add_accumulated(replica);
  // The collectives call this after all replicas have come with their gradients.
  const UpdateFn checked_update = [&](const UpdateViews& part) {
    check_some_gradient();
    update(part);
  };
  if (arena_) {
    const FlatViews views{arena_->gradients(), arena_->parameters(), state_pointers_};
    context.collective().reduce_and_update(replica, views, buckets_, checked_update);
  }
  if (!tables_) return;
  if (!arena_) {
    context.meet("the optimizer's step");
    check_some_gradient();
  }
  tables_->apply(context, update);
}

void GradientReducer::sum_gradients(const ReplicaContext& context) {
  require<BrokenInvariant>(!tables_, "the norms of gradients that are rows are not computed");
  const int replica = context.replica_id_in_sync_group();
  add_accumulated(replica);
  const FlatViews views{arena_->gradients(), arena_->gradients(), {}};
  context.collective().reduce_and_update(replica, views, buckets_, [&](const UpdateViews& part) {
    check_some_gradient();
    current_backend().reduce(ReduceOp::sum, ReduceViews<float>{part.gradients, part.parameters, part.count});
  });
}

std::vector<double> GradientReducer::squared_norms(const ReplicaContext& context, Of of) {
  const int replica = context.replica_id_in_sync_group();
  std::vector<double>& norms = squared_norms_[static_cast<int>(of)];
  if (replica == 0) norms.resize(variables_.size());
  context.meet("the norms of variables");
  const float* const values = of == Of::gradients ? arena_->gradients()[replica] : arena_->parameters().front();
  for (std::size_t i = static_cast<std::size_t>(replica); i < variables_.size();
       i += static_cast<std::size_t>(context.num_replicas_in_sync())) {
    const FlatRange range = arena_->range_of(static_cast<int>(i));
    norms[i] = current_backend().squared_norm(values + range.begin, range.end - range.begin);
  }
  context.meet("the norms of all variables");
  return norms;
}

void GradientReducer::update_by_variable(const ReplicaContext& context, Of to,
                                         const std::function<void(std::size_t variable, const UpdateViews&)>& update) {
  const int replica = context.replica_id_in_sync_group();
  const PhaseTimer timer(Phase::update);
  const auto written = to == Of::gradients ? arena_->gradients() : arena_->parameters();
  const FlatViews views{arena_->gradients().subspan(static_cast<std::size_t>(replica), 1), written, state_pointers_};
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const FlatRange share = shard_of(arena_->range_of(static_cast<int>(i)), replica, context.num_replicas_in_sync());
    update_range([&](const UpdateViews& part) { update(i, part); }, views, share);
  }
  context.meet("the end of the update");
}

void GradientReducer::check_some_gradient() const {
  require(std::ranges::any_of(own_, &Own::has_gradient),
          "no gradients provided: on no replica does the loss depend on any of the {} variables to optimize",
          variables_.size());
}

}  // namespace lockstep
