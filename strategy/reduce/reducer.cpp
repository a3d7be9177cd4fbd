#include "lockstep/strategy/reduce/reducer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {

GradientReducer::GradientReducer(std::vector<Variable> variables, const std::vector<LogicalDevice>& devices,
                                 const ReducerOptions& options)
    : devices_(devices), own_copies_(options.own_copies), variables_(std::move(variables)), own_(devices.size()) {
  std::vector<Variable> dense;
  std::vector<Variable> tables;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const bool is_table = !options.by_rows.empty() && options.by_rows.at(i);
    std::vector<Variable>& kind = is_table ? tables : dense;
    places_.push_back({.is_table = is_table, .number = static_cast<int>(kind.size())});
    kind.push_back(variables_[i]);
  }
  if (!dense.empty() || tables.empty()) add_arena(std::move(dense), options.slots);
  if (!tables.empty()) tables_.emplace(std::move(tables), devices, options);
  add_slots(static_cast<int>(devices.size()));
}

void GradientReducer::add_arena(std::vector<Variable> variables, const std::vector<float>& slots) {
  arena_.emplace(std::move(variables), devices_);
  buckets_ = plan_buckets(arena_->sizes_in_order());
  variables_in_bucket_.assign(buckets_.size(), 0);
  const int in_buckets = buckets_.empty() ? 0 : static_cast<int>(arena_->variables().size());
  for (int variable = 0; variable < in_buckets; ++variable) ++variables_in_bucket_[bucket_of(variable)];
  for (std::size_t replica = 0; replica < (own_copies_ ? devices_.size() : 1); ++replica)
    add_state(devices_[replica], slots);
}

void GradientReducer::add_state(const LogicalDevice& device, const std::vector<float>& slots) {
  const ContextScope there(context_on(device));
  State& state = state_.emplace_back();
  for (const float start : slots) {
    state.slots.push_back(Tensor::full({arena_->elements()}, start));
    state.pointers.push_back(state.slots.back().data<float>());
  }
}

Tensor GradientReducer::state(std::size_t variable, std::size_t slot) const { return state(variable, slot, 0); }

Tensor GradientReducer::state(std::size_t variable, std::size_t slot, std::size_t replica) const {
  const Place place = places_.at(variable);
  if (place.is_table) return tables_->state(place.number, slot, replica);
  return state_in_arena(place.number, slot, replica);
}

void GradientReducer::set_state(std::size_t variable, std::size_t slot, const Tensor& value) const {
  const Place place = places_.at(variable);
  if (place.is_table) return tables_->set_state(place.number, slot, value);
  for (std::size_t replica = 0; replica < state_.size(); ++replica)
    assign(value, state_in_arena(place.number, slot, replica));
}

Tensor GradientReducer::state_in_arena(int variable, std::size_t slot, std::size_t replica) const {
  const FlatRange range = arena_->range_of(variable);
  const Shape& shape = arena_->variables()[static_cast<std::size_t>(variable)].shape();
  return state_.at(replica).slots.at(slot).slice_view(0, range.begin, range.end).view(shape);
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

ExecutionContext GradientReducer::context_of(int replica) const {
  return context_on(devices_[static_cast<std::size_t>(replica)]);
}

void GradientReducer::check_ownership() const {
  require<LogicError>((!arena_ || arena_->holds_variables()) && (!tables_ || tables_->holds_variables()),
                      "these variables have been taken over by another optimizer");
}

void GradientReducer::accept(int replica, std::size_t variable, const DenseOrSparse& gradient) {
  Own& own = own_[static_cast<std::size_t>(replica)];
  own.has_gradient = own.has_gradient || is_defined(gradient);
  if (checks_numerics_ && is_defined(gradient)) require_finite(replica, variable, gradient);
  const Place place = places_[variable];
  if (place.is_table) return tables_->load(replica, place.number, gradient);
  if (!is_defined(gradient)) own.zeros.push_back(variable);
}

void GradientReducer::write_zeros(int replica) try {
  std::vector<std::size_t>& zeros = own_[static_cast<std::size_t>(replica)].zeros;
  const ContextScope there(context_of(replica));
  kernels::Clear clear;
  for (const std::size_t variable : std::exchange(zeros, {})) {
    const Tensor& gradient = slots_[static_cast<std::size_t>(replica)][variable].destination;
    clear.ranges.push_back({gradient.data<float>(), gradient.elements()});
    if (clear.ranges.size() == clear.most) launch(std::exchange(clear, {}));
  }
  if (!clear.ranges.empty()) launch(clear);
} catch (Error& error) {
  rethrow_from("zero_gradients", error);
}

void GradientReducer::require_finite(int replica, std::size_t variable, const DenseOrSparse& gradient) const {
  const ContextScope there(context_of(replica));
  const auto* const rows = std::get_if<IndexedSlices>(&gradient);
  Tensor values = slots_[static_cast<std::size_t>(replica)][variable].destination;
  if (places_[variable].is_table) values = rows ? rows->values : std::get<Tensor>(gradient);
  if (!values.is_dense()) {
    const Tensor dense = Tensor::empty(values.shape());
    launch(kernels::Convert{values, dense});
    values = dense;
  }
  if (std::isfinite(launch(kernels::SquaredNorm{values.data<float>(), values.elements()}))) return;
  const std::vector<float> all = values.to_vector<float>();
  const auto bad = std::ranges::find_if(all, [](float value) { return !std::isfinite(value); });
  require<BrokenInvariant>(bad != all.end(), "the norm of finite gradients is not finite");
  const Variable& of = variables_[variable];
  fail<NumericError>("the gradient of '{}' {} is {} at element {}{}", of.name(), of.shape(), *bad, bad - all.begin(),
                     rows ? " of the rows that were looked up" : "");
}

FlatViews GradientReducer::views_of(int replica) const {
  return {arena_->gradients(), arena_->parameters(), state_of(replica).pointers, arena_->gradients_of(replica)};
}

std::size_t GradientReducer::bucket_of(int variable) const {
  return lockstep::bucket_of(buckets_, arena_->range_of(variable).begin);
}

void GradientReducer::backward(const ReplicaContext& context, GradientTape& tape, const Tensor& loss,
                               AfterBackward next) {
  check_ownership();
  const int replica = context.local_replica();
  Own& own = own_[static_cast<std::size_t>(replica)];
  own.has_gradient = own.has_accumulated;
  compute_gradients(replica, tape, loss, next, [&](std::size_t bucket) {
    context.gradient_update().gradients_final(replica, views_of(replica), buckets_, bucket);
  });
}

void GradientReducer::compute_gradients(int replica, GradientTape& tape, const Tensor& loss, AfterBackward next,
                                        const std::function<void(std::size_t bucket)>& bucket_final) {
  Own& own = own_[static_cast<std::size_t>(replica)];
  own.left_in_bucket = variables_in_bucket_;
  own.zeros.clear();
  tape.backward(loss, slots_[static_cast<std::size_t>(replica)], [&](int slot, const DenseOrSparse& gradient) {
    accept(replica, static_cast<std::size_t>(slot), gradient);
    const Place place = places_[static_cast<std::size_t>(slot)];
    if (next != AfterBackward::apply || place.is_table || buckets_.empty()) return;
    const std::size_t bucket = bucket_of(place.number);
    if (--own.left_in_bucket[bucket] > 0) return;
    write_zeros(replica);
    bucket_final(bucket);
  });
  write_zeros(replica);
}

CapturedGradients GradientReducer::capture_backward(const ReplicaContext& context, GpuCapture& capture,
                                                    GradientTape& tape, const Tensor& loss, AfterBackward next) {
  check_ownership();
  require<NotCapturable>(!tables_, "sparse gradients (IndexedSlices) cannot be captured");
  const int replica = context.local_replica();
  Own& own = own_[static_cast<std::size_t>(replica)];
  own.has_gradient = false;
  CapturedGradients captured;
  compute_gradients(replica, tape, loss, next, [&](std::size_t bucket) {
    if (context.gradient_update().overlaps_backward())
      captured.parts.push_back({.work = capture.take(), .final_bucket = bucket});
  });
  captured.parts.push_back({.work = capture.take()});
  captured.any = own.has_gradient;
  return captured;
}

void GradientReducer::backward(const ReplicaContext& context, const CapturedGradients& captured) {
  check_ownership();
  const int replica = context.local_replica();
  Own& own = own_[static_cast<std::size_t>(replica)];
  own.has_gradient = own.has_accumulated || captured.any;
  for (const CapturedGradients::Part& part : captured.parts) {
    part.work.launch();
    if (part.final_bucket)
      context.gradient_update().gradients_final(replica, views_of(replica), buckets_, *part.final_bucket);
  }
}

void GradientReducer::load(const ReplicaContext& context, std::span<const DenseOrSparse> gradients) {
  check_ownership();
  require(gradients.size() == variables_.size(), "{} gradients were given for {} variables", gradients.size(),
          variables_.size());
  const int replica = context.local_replica();
  Own& own = own_[static_cast<std::size_t>(replica)];
  own.has_gradient = own.has_accumulated;
  own.zeros.clear();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (is_defined(gradients[i])) {
      check_fits(i, gradients[i]);
      if (!places_[i].is_table) assign(as_dense(gradients[i]), slots_[replica][i].destination);
    }
    accept(replica, i, gradients[i]);
  }
  write_zeros(replica);
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
  return slots_[static_cast<std::size_t>(context.local_replica())].at(variable).destination;
}

void GradientReducer::accumulate(const ReplicaContext& context) {
  const int replica = context.local_replica();
  const ContextScope there(context_of(replica));
  Own& own = own_[static_cast<std::size_t>(replica)];
  if (arena_) {
    const Tensor& gradients = arena_->gradients_of(replica);
    if (!own.accumulated.defined()) own.accumulated = Tensor::empty(gradients.shape());
    if (own.has_accumulated)
      launch(kernels::Binary{BinaryOp::add, own.accumulated, gradients, own.accumulated});
    else
      copy(gradients, own.accumulated);
  }
  if (tables_) tables_->accumulate(replica);
  own.has_accumulated = own.has_accumulated || own.has_gradient;
}

void GradientReducer::move_average(const ReplicaContext& context, std::size_t slot, const AverageStep& step) const {
  const int replica = context.local_replica();
  const ContextScope there(context_of(replica));
  const PhaseTimer timer(Phase::update);
  // Other replicas may use their copies until they reach this barrier.
  if (step.overwrites) context.local_barrier("the averages of variables");
  for (int i = 0; i < static_cast<int>(variables_.size()); ++i) {
    if (!own_copies_ && i % context.num_local_replicas() != replica) continue;  // another replica's part
    const VariableState& variable = variables_[static_cast<std::size_t>(i)].state();
    const Tensor average =
        state(static_cast<std::size_t>(i), slot, static_cast<std::size_t>(own_copies_ ? replica : 0));
    launch(kernels::MovingAverages{
        {{average.data<float>(), variable.copy_for(replica).data<float>(), average.elements(), step.momentum}}});
    if (!step.overwrites) continue;
    std::vector<float*> overwritten;
    if (own_copies_)
      overwritten.push_back(variable.copy_for(replica).data<float>());
    else
      for (const Tensor& copy : variable.copies()) overwritten.push_back(copy.data<float>());
    // Uses the stream that updated the average; copy() would use the streams of the copies' devices.
    const float* const moved[] = {average.data<float>()};
    launch(kernels::Reduce{ReduceOp::sum, ReduceViews<float>{moved, overwritten, average.elements()}});
  }
  if (step.overwrites || !own_copies_) context.local_barrier("the end of the averages of variables");
}

void GradientReducer::add_accumulated(int replica) {
  Own& own = own_[static_cast<std::size_t>(replica)];
  if (!own.has_accumulated) return;
  if (arena_) {
    const Tensor& gradients = arena_->gradients_of(replica);
    launch(kernels::Binary{BinaryOp::add, gradients, own.accumulated, gradients});
  }
  own.has_accumulated = false;
}

void GradientReducer::apply(const ReplicaContext& context, const UpdateFn& update) {
  const int replica = context.local_replica();
  const ContextScope there(context_of(replica));
  add_accumulated(replica);
  // GradientUpdate calls this after all replicas have provided their gradients.
  const UpdateFn checked_update = [&](const UpdateViews& part) {
    check_some_gradient();
    update(part);
  };
  if (arena_) {
    context.gradient_update().reduce_and_update(replica, views_of(replica), buckets_, checked_update);
  }
  if (!tables_) return;
  if (!arena_) {
    context.local_barrier("the optimizer's step");
    check_some_gradient();
  }
  tables_->apply(context, update);
}

void GradientReducer::apply_own(const ReplicaContext& context, const UpdateFn& update) {
  require<BrokenInvariant>(own_copies_ && !tables_, "replicas without copies of their own cannot update them");
  const int replica = context.local_replica();
  const ContextScope there(context_of(replica));
  add_accumulated(replica);
  require(own_[static_cast<std::size_t>(replica)].has_gradient,
          "no gradients provided: on this replica the loss depends on none of the {} variables to optimize",
          variables_.size());
  update_by_variable(context, ArenaBuffer::parameters, [&](std::size_t, const UpdateViews& views) { update(views); });
}

void GradientReducer::sum_gradients(const ReplicaContext& context) {
  require<BrokenInvariant>(!tables_, "the norms of gradients that are rows are not computed");
  const int replica = context.local_replica();
  const ContextScope there(context_of(replica));
  add_accumulated(replica);
  const FlatViews views{arena_->gradients(), arena_->gradients(), {}, arena_->gradients_of(replica)};
  context.gradient_update().reduce_and_update(replica, views, buckets_, [&](const UpdateViews& part) {
    check_some_gradient();
    launch(kernels::Reduce{ReduceOp::sum, ReduceViews<float>{part.gradients, part.parameters, part.count}});
  });
}

std::vector<double> GradientReducer::squared_norms(const ReplicaContext& context, ArenaBuffer buffer) {
  const int replica = context.local_replica();
  const ContextScope there(context_of(replica));
  std::vector<double>& norms = squared_norms_[static_cast<int>(buffer)];
  if (replica == 0) norms.resize(variables_.size());
  context.local_barrier("the norms of variables");
  const auto all = buffer == ArenaBuffer::gradients ? arena_->gradients() : arena_->parameters();
  const float* const values = all[all.size() == 1 ? 0 : static_cast<std::size_t>(replica)];
  for (std::size_t i = static_cast<std::size_t>(replica); i < variables_.size();
       i += static_cast<std::size_t>(context.num_local_replicas())) {
    const FlatRange range = arena_->range_of(static_cast<int>(i));
    norms[i] = launch(kernels::SquaredNorm{values + range.begin, range.end - range.begin});
  }
  context.local_barrier("the norms of all variables");
  return norms;
}

void GradientReducer::update_by_variable(const ReplicaContext& context, ArenaBuffer to,
                                         const std::function<void(std::size_t variable, const UpdateViews&)>& update,
                                         Parts parts) {
  const int replica = context.local_replica();
  const ContextScope there(context_of(replica));
  const PhaseTimer timer(Phase::update);
  const auto own = static_cast<std::size_t>(replica);
  const auto all = to == ArenaBuffer::gradients ? arena_->gradients() : arena_->parameters();
  const FlatViews views{arena_->gradients().subspan(own, 1), own_copies_ ? all.subspan(own, 1) : all,
                        state_of(replica).pointers};
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const FlatRange range = arena_->range_of(static_cast<int>(i));
    const int replicas = context.num_local_replicas();
    FlatRange share = range;
    if (!own_copies_ && parts == Parts::of_each) share = shard_of(range, replica, replicas);
    if (!own_copies_ && parts == Parts::whole && static_cast<int>(i) % replicas != replica) continue;
    update_range([&](const UpdateViews& part) { update(i, part); }, views, share);
  }
  context.local_barrier("the end of the update");
}

void GradientReducer::check_some_gradient() const {
  require(std::ranges::any_of(own_, &Own::has_gradient),
          "no gradients provided: on no replica does the loss depend on any of the {} variables to optimize",
          variables_.size());
}

}  // namespace lockstep
