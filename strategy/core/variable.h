#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/tensor/parameter.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/core/scatter.h>

namespace lockstep {

/// How the copies of a variable are kept in sync, as in TensorFlow.
enum class Synchronization {
  automatic,  ///< same as on_write
  none,       ///< not supported; making the variable throws InvalidArgument
  on_write,   ///< copies are equal: every write goes to all copies
  on_read,    ///< copies are independent; reading outside a replica combines them
};

/// How the values that replicas assign to an on_write variable are combined, and how the copies of an on_read variable
/// are combined when it is read outside replicas.
enum class Aggregation { none, sum, mean, only_first_replica };

///@{
/// TensorFlow's name of the value, in lower case: "auto", "only_first_replica".
std::string_view name(Synchronization synchronization);
std::string_view name(Aggregation aggregation);
///@}

/// Fills a dense host tensor of the variable's shape and dtype with initial values.
using Initializer = std::function<void(const Tensor&)>;

/// Projects a variable's value onto the allowed values, in place. Must be deterministic: bit-identical input must give
/// bit-identical output, or the copies diverge.
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

/// The copies of one variable and the rules for reading and writing them. This class implements plain variables,
/// without a strategy; strategies derive their own classes.
class VariableState {
 public:
  /// Makes a copy on each device. The initializer fills the first copy, whose value is copied to the others. Throws
  /// InvalidArgument for Synchronization::none, an empty initializer, and Aggregation::mean of a dtype other than f32
  /// and bf16.
  VariableState(VariableSpec spec, const std::vector<LogicalDevice>& devices);
  virtual ~VariableState() = default;

  /// Reads outside a replica.
  virtual Tensor read() const { return copies_.front(); }
  /// Assigns outside a replica.
  virtual void write(AssignOp op, const Tensor& value);
  /// Assigns in replica `replica`. If the variable is not on_read, all replicas must call it. `literal`: `value` comes
  /// from an overload that takes a number and is the same on every replica, so it is not combined. Throws LogicError
  /// for a plain variable if this process has several replicas.
  virtual void write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica);
  /// Writes rows of every copy, outside a replica.
  virtual void scatter(ScatterOp op, const IndexedSlices& slices);
  /// Writes rows in a replica. All replicas must call it. Throws the same errors as write_in_replica.
  virtual void scatter_in_replica(ScatterOp op, const IndexedSlices& slices);
  /// Whether all replicas use one shared copy by design, as in a CentralStorageStrategy; false for mirrored variables,
  /// even with a single replica.
  virtual bool serves_all_replicas() const { return false; }
  /// Throws LogicError if the calling thread is in the scope or in a replica of a strategy other than the variable's.
  virtual void check_strategy() const {}
  ///@{
  /// Write one copy only.
  void write_copy(int index, AssignOp op, const Tensor& value);
  void scatter_copy(int index, ScatterOp op, const IndexedSlices& slices);
  ///@}
  ///@{
  /// The weight of each copy in the mean that an on_read variable returns outside replicas. Weights default to 1;
  /// assign() outside replicas resets them to 1. Call set_copy_weight on the thread of the copy's replica, or while no
  /// replica is in a step.
  const std::vector<double>& copy_weights() const { return copy_weights_; }
  void set_copy_weight(int index, double weight) { copy_weights_.at(static_cast<std::size_t>(index)) = weight; }
  ///@}

  /// The properties given at construction. `trainable` has a value.
  const VariableSpec& spec() const { return spec_; }
  ///@{
  /// Whether tapes watch the variable automatically. Set it while no replica is in a step.
  bool trainable() const { return copies_.front().is_parameter(); }
  void set_trainable(bool trainable);
  ///@}
  /// The copies, in the order of the devices at construction.
  const std::vector<Tensor>& copies() const { return copies_; }
  /// TensorFlow's names of the copies: "v", "v/replica_1", ...
  std::string copy_name(int index) const;
  /// The copy that replica `index` uses, or that Strategy::update visits at `index`. If there is only one copy, returns
  /// that copy.
  const Tensor& copy_for(int index) const;
  /// Moves copy `index` and its value to `memory`, of the same shape and dtype. Tapes that recorded reads of the copy
  /// still treat it as the same tensor after the move. The first move of a copy frees its original memory and makes all
  /// tensors that refer to that memory refer to `memory`; later moves leave such tensors unchanged. Throws
  /// InvalidArgument if `memory` differs in shape or dtype or is strided. Precondition: no replica is in a step.
  void move_copy(int index, const Tensor& memory);
  /// Records a change of the value of copy_for(index) for tapes (Parameter::set_changed), as the functions that write
  /// copies do. `time`: a result of Parameter::new_time.
  void set_changed(int index, std::uint64_t time = Parameter::new_time()) const;

 private:
  /// Throws the same errors as Tensor::empty, naming the copy.
  Tensor memory_for_copy(int index, const LogicalDevice& device) const;
  /// Computes the initial value on the host and copies it to `memory`.
  void initialize(const Tensor& memory) const;
  /// Throws LogicError if this process has several replicas: all of them would write the only copy of a plain variable.
  void check_alone() const;

  VariableSpec spec_;
  std::vector<Tensor> copies_;
  std::vector<double> copy_weights_;
  std::vector<char> moved_;  ///< for each copy: whether move_copy has moved it
  /// The trainable handles of the copies, kept while set_trainable has made the variable untrainable. Otherwise empty.
  std::vector<Tensor> parameters_;
};

/// A handle to a variable. Copies of a handle refer to the same variable.
class Variable {
 public:
  Variable() = default;
  /// A handle to a variable that a strategy made.
  explicit Variable(std::shared_ptr<VariableState> state) : state_(std::move(state)) {}
  /// Makes a variable by the creator of the innermost VariableCreatorScope; without such a scope, by the strategy whose
  /// scope is open on this thread; outside every scope, as one copy on the current device. Inside a step, all replicas
  /// must make the variable together; the constructor throws LogicError there once a step of the strategy has completed
  /// (except in a OneDeviceStrategy), because every step would make a new variable. Also throws the errors of
  /// VariableState's constructor.
  explicit Variable(VariableSpec spec);

  /// Whether the handle refers to a variable. False for a default-constructed or moved-from handle; the other functions
  /// of such a handle throw LogicError.
  bool defined() const { return static_cast<bool>(state_); }
  ///@{
  /// The variable's properties. trainable() changes when the variable's layer is frozen or unfrozen.
  const std::string& name() const { return state_->spec().name; }
  const Shape& shape() const { return state_->spec().shape; }
  DType dtype() const { return state_->spec().dtype; }
  bool trainable() const { return state_->trainable(); }
  Synchronization synchronization() const { return state_->spec().synchronization; }
  Aggregation aggregation() const { return state_->spec().aggregation; }
  ///@}

  /// In a replica, the replica's copy; in Strategy::update, the copy that the update visits. Elsewhere, the combined
  /// copies of an on_read variable, in new memory, or the first copy of any other variable. Except for combined copies,
  /// the result shares the copy's memory and changes when the variable is assigned. Reading an on_read variable outside
  /// replicas is a collective of all workers, and throws InvalidArgument without an aggregation. Throws LogicError
  /// under another strategy.
  Tensor value() const;

  /// Outside a replica, sets all copies so that value() returns `value` (for an on_read f32 or bf16 variable with
  /// aggregation sum, apart from rounding). In Strategy::update, sets only the copy that the update visits. In a
  /// replica, sets only the replica's own copy of an on_read variable; an on_write variable must be assigned by all
  /// replicas together, and every copy gets their combined values. `value` may share the variable's memory: it is then
  /// copied before the first write. Throws InvalidArgument for a value of another shape or dtype. In a replica, throws
  /// InvalidArgument for an on_write variable without an aggregation: in a CentralStorageStrategy always, otherwise if
  /// the replicas' values differ. Outside replicas, throws InvalidArgument for an on_read bool variable with
  /// aggregation sum. Throws LogicError under another strategy, and for a plain variable in a run with several
  /// replicas.
  void assign(const Tensor& value) const { write(AssignOp::set, value, false); }
  ///@{
  /// Adds or subtracts `delta`. In a replica, the deltas of the replicas are combined, except for an on_read variable.
  /// Throws the errors of assign. Also throws InvalidArgument for a bool variable and, outside a replica, for an
  /// on_read variable with aggregation sum, because it is undefined whether `delta` counts once or once per replica.
  void assign_add(const Tensor& delta) const { write(AssignOp::add, delta, false); }
  void assign_sub(const Tensor& delta) const { write(AssignOp::sub, delta, false); }
  ///@}
  ///@{
  /// Same as above, with one number for all elements. It must be the same on every replica and is not combined. In a
  /// replica (except of a OneDeviceStrategy), throws InvalidArgument for an on_write variable with aggregation sum,
  /// because it is undefined whether the number counts once or once per replica; assign a tensor instead. Throws
  /// InvalidArgument for a number that the dtype cannot represent, such as 0.5 for i64.
  void assign(double value) const { write_number(AssignOp::set, value); }
  void assign_add(double delta) const { write_number(AssignOp::add, delta); }
  void assign_sub(double delta) const { write_number(AssignOp::sub, delta); }
  ///@}

  ///@{
  /// Changes rows of the variable; see lockstep::scatter for dtypes, order and errors. In a replica, all replicas must
  /// call it, and their slices are combined: without an aggregation they must be equal; only_first_replica uses the
  /// slices of replica 0; sum and mean apply the rows of all replicas in replica order, and mean first divides their
  /// values by the number of replicas. Slices that share the variable's memory are copied before the first write.
  /// Throws Unsupported for an on_read variable (except in Strategy::update) and, in a replica, for scatter_min,
  /// scatter_max and scatter_update of a variable with aggregation sum or mean. Throws LogicError in the same cases as
  /// assign.
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
