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
  none,       ///< rejected: independent copies are not one variable
  on_write,   ///< copies are equal: every write goes to all copies
  on_read,    ///< copies are independent; reading outside a replica combines them
};

/// How replicas' values are combined: the values assigned to an on_write variable, or read from an on_read variable.
enum class Aggregation { none, sum, mean, only_first_replica };

///@{
/// TensorFlow's name of the value.
std::string_view name(Synchronization synchronization);
std::string_view name(Aggregation aggregation);
///@}

/// Fills a dense host tensor of the variable's shape and dtype with initial values.
using Initializer = std::function<void(const Tensor&)>;

/// Projects a variable's value onto the allowed values, in place. Must be deterministic: equal bits give equal bits.
using VariableConstraint = std::function<void(const Tensor&)>;

/// Properties of a new variable.
struct VariableSpec {
  std::string name;                                              ///< prefixed with the open name scopes
  Shape shape;                                                   ///< shape of each copy
  Initializer initializer;                                       ///< called once, for the first copy
  DType dtype = DType::f32;                                      ///< dtype of each copy
  std::optional<bool> trainable{};                               ///< default: true unless on_read
  Synchronization synchronization = Synchronization::automatic;  ///< how the copies are kept in sync
  Aggregation aggregation = Aggregation::none;                   ///< how replicas' values are combined
  VariableConstraint constraint{};                               ///< applied by optimizers, after each step
};

/// How an assignment changes the current value.
enum class AssignOp { set, add, sub };

/// The copies of one variable and the rules of reading and writing them. This class implements plain variables, without
/// a strategy; strategies derive their own.
class VariableState {
 public:
  /// Makes one copy for each device: the first with the initializer, the others from the first. Throws InvalidArgument
  /// for Synchronization::none, an empty initializer, and Aggregation::mean of a dtype other than f32 and bf16.
  VariableState(VariableSpec spec, const std::vector<LogicalDevice>& devices);
  virtual ~VariableState() = default;

  /// Reads outside a replica.
  virtual Tensor read() const { return copies_.front(); }
  /// Assigns outside a replica.
  virtual void write(AssignOp op, const Tensor& value);
  /// Assigns in a replica; all replicas must call it. `literal`: the value is a number in the program, equal on every
  /// replica.
  virtual void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica);
  /// Writes rows of every copy, outside a replica.
  virtual void scatter(ScatterOp op, const IndexedSlices& slices);
  /// Writes rows in a replica; all replicas must call it.
  virtual void scatter_in_replica(ScatterOp op, const IndexedSlices& slices);
  /// Whether a single copy serves any number of replicas.
  virtual bool serves_all_replicas() const { return false; }
  /// Throws LogicError when the calling thread is under a strategy other than the variable's.
  virtual void check_strategy() const {}
  /// Assigns to one copy only.
  void write_copy(int index, AssignOp op, const Tensor& value);
  ///@{
  /// The weight of each copy in the mean that reading an on_read variable returns. Weights are 1 until set, and again
  /// after the variable has been assigned outside replicas. Set a weight on the copy's replica, or while no replica is
  /// in a step.
  const std::vector<double>& copy_weights() const { return copy_weights_; }
  void set_copy_weight(int index, double weight) { copy_weights_.at(static_cast<std::size_t>(index)) = weight; }
  ///@}

  /// The properties given at construction.
  const VariableSpec& spec() const { return spec_; }
  /// Whether tapes watch the variable automatically.
  bool trainable() const { return copies_.front().is_parameter(); }
  /// The copies, in the order of the devices at construction.
  const std::vector<Tensor>& copies() const { return copies_; }
  /// TensorFlow's names of the copies: "v", "v/replica_1", ...
  std::string copy_name(int index) const;
  /// The copy for replica or update `index`; if there is only one copy, that one.
  const Tensor& copy_for(int index) const;
  /// Moves copy `index` with its value to other memory of the same shape. Tapes that read the copy before recognize it
  /// afterwards. The first move frees the original memory, even if tapes still hold tensors of it. Precondition: no
  /// replica is in a step.
  void move_copy(int index, const Tensor& memory);

 private:
  /// Throws the same errors as Tensor::empty, naming the copy.
  Tensor memory_for_copy(int index, const LogicalDevice& device) const;
  /// Makes the initial value on the host.
  void initialize(const Tensor& memory) const;
  /// Throws LogicError if several replicas would write the only copy of a plain variable.
  void check_alone() const;

  VariableSpec spec_;
  std::vector<Tensor> copies_;
  std::vector<double> copy_weights_;
  std::vector<char> moved_;  ///< by copy: whether it has left its original memory
};

/// A handle to a variable. Copies of a handle refer to the same variable.
class Variable {
 public:
  Variable() = default;
  /// A handle to a variable that a strategy made.
  explicit Variable(std::shared_ptr<VariableState> state) : state_(std::move(state)) {}
  /// Makes a variable with the innermost VariableCreatorScope; without one, with the strategy whose scope is open on
  /// this thread; outside every scope, as one copy on the current device. In a replica, all replicas make it together,
  /// and only in the first step (except in a OneDeviceStrategy): a later step would make another one each time.
  explicit Variable(VariableSpec spec);

  /// Whether the handle has a variable. False after default construction or a move; its other functions then throw
  /// LogicError.
  bool defined() const { return static_cast<bool>(state_); }
  ///@{
  /// The variable's properties. `trainable` is known even if VariableSpec::trainable is empty.
  const std::string& name() const { return state_->spec().name; }
  const Shape& shape() const { return state_->spec().shape; }
  DType dtype() const { return state_->spec().dtype; }
  bool trainable() const { return state_->trainable(); }
  Synchronization synchronization() const { return state_->spec().synchronization; }
  Aggregation aggregation() const { return state_->spec().aggregation; }
  ///@}

  /// In a replica or update, returns its own copy; elsewhere, the combined value. Shares memory with the variable where
  /// possible. Throws LogicError under another strategy, InvalidArgument when combining an on_read variable without an
  /// aggregation.
  Tensor value() const;

  /// Outside a replica: sets all copies so that value() returns `value`. In `Strategy::update`: sets that copy. In a
  /// replica: sets its own copy of an on_read variable; for an on_write variable all replicas assign together, and
  /// every copy gets their combined values (without an aggregation they must be equal). Throws InvalidArgument for
  /// another shape or dtype, LogicError under another strategy.
  void assign(const Tensor& value) const { write(AssignOp::set, value, false); }
  ///@{
  /// Adds or subtracts. In a replica, the deltas of the replicas are combined, except for an on_read variable.
  void assign_add(const Tensor& delta) const { write(AssignOp::add, delta, false); }
  void assign_sub(const Tensor& delta) const { write(AssignOp::sub, delta, false); }
  ///@}
  ///@{
  /// Same as above, with one number for all elements. It must be equal on every replica and is not combined. In a
  /// replica, throws InvalidArgument for an on_write variable with aggregation sum: such a number cannot be summed.
  void assign(double value) const { write_number(AssignOp::set, value); }
  void assign_add(double delta) const { write_number(AssignOp::add, delta); }
  void assign_sub(double delta) const { write_number(AssignOp::sub, delta); }
  ///@}

  ///@{
  /// Writes the rows that `slices` names. In a replica, the slices of all replicas are combined first: sum and mean
  /// join them, and the rows are applied in replica order (for the mean divided by the number of replicas). Throws
  /// Unsupported for an on_read variable and, in a replica, for min, max and update under sum or mean.
  void scatter_add(const IndexedSlices& slices) const { scatter(ScatterOp::add, slices); }
  void scatter_sub(const IndexedSlices& slices) const { scatter(ScatterOp::sub, slices); }
  void scatter_mul(const IndexedSlices& slices) const { scatter(ScatterOp::mul, slices); }
  void scatter_div(const IndexedSlices& slices) const { scatter(ScatterOp::div, slices); }
  void scatter_min(const IndexedSlices& slices) const { scatter(ScatterOp::min, slices); }
  void scatter_max(const IndexedSlices& slices) const { scatter(ScatterOp::max, slices); }
  void scatter_update(const IndexedSlices& slices) const { scatter(ScatterOp::update, slices); }
  ///@}

  /// The implementation that all handles to the variable share.
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
