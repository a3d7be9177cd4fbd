#include "lockstep/strategy/core/variable.h"

#include <algorithm>
#include <utility>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/tensor/may_share_memory.h>
#include <lockstep/strategy/core/creator.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {
namespace {

Variable make_by_strategy(VariableSpec spec) {
  const bool in_replica = current_context().in_replica() && has_strategy();
  return Variable(in_replica ? get_replica_context().create_variable(std::move(spec))
                             : get_strategy().state()->make_variable(std::move(spec)));
}

Variable make_variable(VariableSpec spec) {
  const std::shared_ptr<const VariableCreators> creators = thread_creators();
  if (!creators) return make_by_strategy(std::move(spec));
  struct Around {  // the outer creators apply while this creator runs
    explicit Around(const VariableCreators& all) { thread_creators() = all.outer; }
    ~Around() { thread_creators() = before; }
    std::shared_ptr<const VariableCreators> before = thread_creators();
  } const around(*creators);
  const std::string name = spec.name;
  Variable made = creators->creator(make_variable, std::move(spec));
  require(made.defined(), "a variable creator gave no variable for '{}'", name);
  return made;
}

/// x itself, or a dense copy if writing a copy of the variable may change its elements.
Tensor apart_from(const std::vector<Tensor>& copies, const Tensor& x) {
  if (std::ranges::none_of(copies, [&](const Tensor& own) { return may_share_memory(own, x); })) return x;
  Tensor apart = Tensor::empty(x.shape(), x.dtype(), x.device());
  assign(x, apart);
  return apart;
}

}  // namespace

std::string_view name(Synchronization synchronization) {
  constexpr std::string_view names[] = {"auto", "none", "on_write", "on_read"};
  return names[static_cast<int>(synchronization)];
}

std::string_view name(Aggregation aggregation) {
  constexpr std::string_view names[] = {"none", "sum", "mean", "only_first_replica"};
  return names[static_cast<int>(aggregation)];
}

VariableState::VariableState(VariableSpec spec, const std::vector<LogicalDevice>& devices) : spec_(std::move(spec)) {
  require(spec_.synchronization != Synchronization::none,
          "variable '{}': synchronization none is not supported; use auto, on_write or on_read", spec_.name);
  require(spec_.initializer != nullptr, "variable '{}' needs an initializer", spec_.name);
  const bool floating = spec_.dtype == DType::f32 || spec_.dtype == DType::bf16;
  require(floating || spec_.aggregation != Aggregation::mean,
          "variable '{}' of {} cannot be aggregated by mean, which is for floating-point numbers", spec_.name,
          lockstep::name(spec_.dtype));
  const bool trainable = spec_.trainable.value_or(spec_.synchronization != Synchronization::on_read);
  spec_.trainable = trainable;
  for (const LogicalDevice& device : devices) {
    Tensor memory = memory_for_copy(static_cast<int>(copies_.size()), device);
    if (copies_.empty())
      initialize(memory);
    else
      copy(copies_.front(), memory);
    copies_.push_back(trainable ? memory.as_parameter(spec_.name) : memory);
  }
  copy_weights_.assign(copies_.size(), 1);
}

void VariableState::initialize(const Tensor& memory) const {
  const LogicalDevice host;
  const ContextScope there(context_on(host));
  if (is_reachable(memory, host)) return spec_.initializer(memory);
  const Tensor value = Tensor::empty(spec_.shape, spec_.dtype);
  spec_.initializer(value);
  copy(value, memory);
}

std::string VariableState::copy_name(int index) const {
  return index == 0 ? spec_.name : fmt::format("{}/replica_{}", spec_.name, index);
}

Tensor VariableState::memory_for_copy(int index, const LogicalDevice& device) const {
  try {
    return Tensor::empty(spec_.shape, spec_.dtype, device);
  } catch (Error& error) {
    error.add_context(fmt::format("variable '{}'", copy_name(index)));
    throw;
  }
}

void VariableState::write(AssignOp op, const Tensor& value) {
  if (op == AssignOp::set) std::ranges::fill(copy_weights_, 1);
  for (int index = 0; index < static_cast<int>(copies_.size()); ++index) write_copy(index, op, value);
}

void VariableState::write_in_replica(AssignOp op, const Tensor& value, bool /*literal*/, int /*replica*/) {
  check_alone();
  write(op, value);
}

void VariableState::scatter(ScatterOp op, const IndexedSlices& slices) {
  for (int index = 0; index < static_cast<int>(copies_.size()); ++index) scatter_copy(index, op, slices);
}

void VariableState::scatter_in_replica(ScatterOp op, const IndexedSlices& slices) {
  check_alone();
  scatter(op, slices);
}

void VariableState::check_alone() const {
  require<LogicError>(current_context().replicas == 1,
                      "variable '{}' was made outside the strategy's scope: {} replicas would write its one copy, in "
                      "any order; make it inside scope()",
                      spec_.name, current_context().replicas);
}

void VariableState::write_copy(int index, AssignOp op, const Tensor& value) {
  const Tensor& own = copies_.at(static_cast<std::size_t>(index));
  set_changed(index);
  if (op == AssignOp::set) return assign(value, own);
  const ContextScope there(context_on(own.device()));
  const BinaryOp binary = op == AssignOp::add ? BinaryOp::add : BinaryOp::subtract;
  launch(kernels::Binary{binary, own, reachable_from(own.device(), value), own});
}

void VariableState::scatter_copy(int index, ScatterOp op, const IndexedSlices& slices) {
  set_changed(index);
  lockstep::scatter(op, slices, copies_.at(static_cast<std::size_t>(index)));
}

void VariableState::set_changed(int index, std::uint64_t time) const {
  if (const auto& parameter = copy_for(index).parameter()) parameter->set_changed(time);
}

void VariableState::set_trainable(bool trainable) {
  if (trainable == this->trainable()) return;
  const std::vector<Tensor> before = std::exchange(parameters_, trainable ? std::vector<Tensor>{} : copies_);
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    Tensor& own = copies_[i];
    if (!trainable)
      own = own.view(own.shape());
    else
      own = before.empty() ? own.as_parameter(spec_.name) : own.in_place_of(before[i]);
  }
}

const Tensor& VariableState::copy_for(int index) const {
  return copies_.size() == 1 ? copies_.front() : copies_.at(static_cast<std::size_t>(index));
}

void VariableState::move_copy(int index, const Tensor& memory) {
  moved_.resize(copies_.size());
  const Tensor before = copies_.at(index);
  copy(before, memory);
  copies_[index] = memory.in_place_of(before);
  // Tapes may hold the old copy, which must not keep its memory allocated. Only the copy's first memory belongs to the
  // copy alone.
  if (!std::exchange(moved_[index], 1)) before.move_into(memory);
}

Variable::Variable(VariableSpec spec) : Variable(make_variable(std::move(spec))) {}

Tensor Variable::value() const {
  state_->check_strategy();
  const ExecutionContext& context = current_context();
  if (context.in_update()) return state_->copy_for(context.update);
  return context.in_replica() ? state_->copy_for(context.replica) : state_->read();
}

void Variable::write(AssignOp op, const Tensor& value, bool literal) const {
  state_->check_strategy();
  require(value.defined() && value.shape() == shape() && value.dtype() == dtype(),
          "variable '{}' has shape {} of {}, cannot be assigned {}", name(), shape(), lockstep::name(dtype()), value);
  const Tensor apart = apart_from(state_->copies(), value);
  const ExecutionContext& context = current_context();
  if (context.in_update())
    state_->write_copy(state_->copies().size() == 1 ? 0 : context.update, op, apart);
  else if (context.in_replica())
    state_->write_in_replica(op, apart, literal, context.replica);
  else
    state_->write(op, apart);
}

void Variable::scatter(ScatterOp op, const IndexedSlices& slices) const {
  state_->check_strategy();
  const std::vector<Tensor>& copies = state_->copies();
  const IndexedSlices apart{apart_from(copies, slices.values), apart_from(copies, slices.indices), slices.dense_shape};
  const ExecutionContext& context = current_context();
  if (context.in_update())
    state_->scatter_copy(state_->copies().size() == 1 ? 0 : context.update, op, apart);
  else if (context.in_replica())
    state_->scatter_in_replica(op, apart);
  else
    state_->scatter(op, apart);
}

void Variable::write_number(AssignOp op, double value) const {
  require(holds(dtype(), value), "variable '{}' is {}, which cannot represent {}", name(), lockstep::name(dtype()),
          value);
  write(op, Tensor::full(shape(), value, dtype()), true);
}

}  // namespace lockstep
