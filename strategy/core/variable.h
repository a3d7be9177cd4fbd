#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/core/scatter.h>

namespace lockstep {

/// How the copies of a variable are kept in sync, as in TensorFlow.
enum class Synchronization {
  automatic,  ///< on_write
  none,       ///< refused: independent copies are not one variable
  on_write,   ///< copies are equal: every write goes to all of them
  on_read,    ///< copies are independent, and combined when read outside a replica
};

/// How the replicas' values are combined: those assigned to a variable on_write, those read from one on_read.
enum class Aggregation { none, sum, mean, only_first_replica };

///@{
/// TensorFlow's name of the value.
std::string_view name(Synchronization synchronization);
std::string_view name(Aggregation aggregation);
///@}

/// Fills a dense host tensor of the variable's shape and dtype with initial values.
using Initializer = std::function<void(const Tensor&)>;

/// Projects a variable's value onto the allowed values, in place. Deterministic: equal bits give equal bits.
using VariableConstraint = std::function<void(const Tensor&)>;

/// Describes a variable to make.
struct VariableSpec {
  std::string name;                                              ///< gets the open name scopes before it
  Shape shape;                                                   ///< of each copy
  Initializer initializer;                                       ///< called once, for the first copy
  DType dtype = DType::f32;                                      ///< of each copy
  std::optional<bool> trainable{};                               ///< default: true unless on_read
  Synchronization synchronization = Synchronization::automatic;  ///< how the copies are kept in sync
  Aggregation aggregation = Aggregation::none;                   ///< how replicas' values are combined
  VariableConstraint constraint{};                               ///< applied by optimizers, after each step
};

/// How an assignment changes the current value.
enum class AssignOp { set, add, sub };

/// The copies of one variable and the rules of reading and writing them. This class is a plain variable, without a
/// strategy; strategies derive theirs.
class VariableState {
 public:
  /// One copy for each device: the first from the initializer, the others from the first.
  /// Throws InvalidArgument for synchronization none, or the mean of integers.
  VariableState(VariableSpec spec, const std::vector<LogicalDevice>& devices);
  virtual ~VariableState() = default;

  /// The value outside a replica.
  virtual Tensor read() const { return copies_.front(); }
  /// Assigns outside a replica.
  virtual void write(AssignOp op, const Tensor& value);
  /// Assigns in a replica; all replicas call it. `literal`: a number in the program, the same on every replica.
  virtual void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica);
  /// Writes rows outside a replica: to every copy.
  virtual void scatter(ScatterOp op, const IndexedSlices& slices);
  /// Writes rows in a replica; all replicas call it.
  virtual void scatter_in_replica(ScatterOp op, const IndexedSlices& slices);
  /// Whether one copy is meant for any number of replicas.
  virtual bool serves_all_replicas() const { return false; }
  /// Throws LogicError when the calling thread is under another strategy than the variable's.
  virtual void check_strategy() const {}
  /// Assigns to one copy alone.
  void write_copy(int index, AssignOp op, const Tensor& value);
  ///@{
  /// The weight of each copy in the mean that reading a variable on_read gives: equal at first, and after the
  /// variable has been assigned outside replicas. Set by the copy's replica, or while no replica takes a step.
  const std::vector<double>& copy_weights() const { return copy_weights_; }
  void set_copy_weight(int index, double weight) { copy_weights_.at(static_cast<std::size_t>(index)) = weight; }
  ///@}

  /// As given at construction.
  const VariableSpec& spec() const { return spec_; }
  /// Whether tapes watch it without being asked.
  bool trainable() const { return copies_.front().is_parameter(); }
  /// By device, in the order of construction.
  const std::vector<Tensor>& copies() const { return copies_; }
  /// TensorFlow's names of the copies: "v", "v/replica_1", ...
  std::string copy_name(int index) const;
  /// The copy that replica, or update, `index` works with; the only one where there is one.
  const Tensor& copy_for(int index) const;
  /// Moves copy `index` to other memory of the same shape; the value moves along, and tapes that have read the copy
  /// before know it after. The memory that was made for it is free then, though tapes hold on to tensors of it. Not
  /// while replicas take a step.
  void move_copy(int index, const Tensor& memory);

 private:
  /// Throws as Tensor::empty does, naming the copy.
  Tensor memory_for_copy(int index, const LogicalDevice& device) const;
  /// The first value, made on the host.
  void initialize(const Tensor& memory) const;
  /// Throws LogicError where several replicas would write the one copy of a plain variable.
  void check_alone() const;

  VariableSpec spec_;
  std::vector<Tensor> copies_;
  std::vector<double> copy_weights_;
  std::vector<char> moved_;  ///< by copy: whether it has left the memory that was made for it
};

/// A handle; copies of it are the same variable.
class Variable {
 public:
  Variable() = default;
  /// A handle to a variable that a strategy has made.
  explicit Variable(std::shared_ptr<VariableState> state) : state_(std::move(state)) {}
  /// Made by the innermost VariableCreatorScope; without one by the strategy whose scope is open on this thread;
  /// outside any, one copy on the current device. In a replica all replicas make it together, in the first step only:
  /// later it would be another one in every step.
  explicit Variable(VariableSpec spec);

  /// False for a handle that was default-constructed or moved from: its other functions throw LogicError.
  bool defined() const { return static_cast<bool>(state_); }
  ///@{
  /// As it was made; `trainable` also where VariableSpec did not say.
  const std::string& name() const { return state_->spec().name; }
  const Shape& shape() const { return state_->spec().shape; }
  DType dtype() const { return state_->spec().dtype; }
  bool trainable() const { return state_->trainable(); }
  Synchronization synchronization() const { return state_->spec().synchronization; }
  Aggregation aggregation() const { return state_->spec().aggregation; }
  ///@}

  /// In a replica or update its own copy, elsewhere the combined value. Shares memory with the variable where it can.
  /// Throws LogicError under another strategy, InvalidArgument for one on_read that has no aggregation.
  Tensor value() const;

  /// Outside a replica: sets every copy so that `value` is read. In `Strategy::update`: the one copy. In a replica: its
  /// own copy of one on_read; for one on_write, all replicas assign together, and every copy gets their combined
  /// values (without an aggregation they have to be equal). Throws InvalidArgument on another shape or dtype,
  /// LogicError under another strategy.
  void assign(const Tensor& value) const { write(AssignOp::set, value, false); }
  ///@{
  /// Adds or subtracts; what is combined over the replicas is the difference.
  void assign_add(const Tensor& delta) const { write(AssignOp::add, delta, false); }
  void assign_sub(const Tensor& delta) const { write(AssignOp::sub, delta, false); }
  ///@}
  ///@{
  /// A number in the program, for every element. The same on every replica, so it is not combined, and
  /// cannot be summed: InvalidArgument in a replica where the aggregation is sum.
  void assign(double value) const { write_number(AssignOp::set, value); }
  void assign_add(double delta) const { write_number(AssignOp::add, delta); }
  void assign_sub(double delta) const { write_number(AssignOp::sub, delta); }
  ///@}

  ///@{
  /// Writes the rows that `slices` names. In a replica, all replicas' slices are first combined by the aggregation: sum
  /// and mean join them, each row applied in replica order (for the mean divided by their number). Throws Unsupported
  /// for a variable on_read, and for min, max and update under sum or mean.
  void scatter_add(const IndexedSlices& slices) const { scatter(ScatterOp::add, slices); }
  void scatter_sub(const IndexedSlices& slices) const { scatter(ScatterOp::sub, slices); }
  void scatter_mul(const IndexedSlices& slices) const { scatter(ScatterOp::mul, slices); }
  void scatter_div(const IndexedSlices& slices) const { scatter(ScatterOp::div, slices); }
  void scatter_min(const IndexedSlices& slices) const { scatter(ScatterOp::min, slices); }
  void scatter_max(const IndexedSlices& slices) const { scatter(ScatterOp::max, slices); }
  void scatter_update(const IndexedSlices& slices) const { scatter(ScatterOp::update, slices); }
  ///@}

  /// The copies and the rules of reading and writing them.
  VariableState& state() const { return *state_; }
  /// Whether both are handles to the same variable.
  friend bool operator==(const Variable& a, const Variable& b) { return a.state_ == b.state_; }

 private:
  void write(AssignOp op, const Tensor& value, bool literal) const;
  void write_number(AssignOp op, double value) const;
  void scatter(ScatterOp op, const IndexedSlices& slices) const;

  Handle<VariableState, "variable"> state_;
};

}  // namespace lockstep
