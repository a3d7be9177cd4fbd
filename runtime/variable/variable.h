#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// How the copies of a variable are kept together, in TensorFlow's words.
enum class Synchronization {
  automatic,  ///< on_write
  on_write,   ///< copies are equal: every write goes to all of them
  on_read,    ///< copies are independent, and combined when read outside a replica
};

/// How the copies' values are combined.
enum class Aggregation { none, sum, mean, only_first_replica };

/// Fills a dense f32 host tensor with initial values.
using Initializer = std::function<void(const Tensor&)>;

/// What a variable is made from.
struct VariableSpec {
  std::string name;
  Shape shape;
  Initializer initializer;
  bool trainable = true;
  Synchronization synchronization = Synchronization::automatic;
  Aggregation aggregation = Aggregation::none;
};

/// The copies of one variable and the rules of reading and writing them; strategies derive theirs.
class VariableState {
 public:
  /// One copy for each device: the first from the initializer, the others from the first.
  VariableState(VariableSpec spec, const std::vector<LogicalDevice>& devices);
  virtual ~VariableState() = default;

  /// The value outside a replica.
  virtual Tensor read() const { return copies_.front(); }
  /// Sets the value outside a replica.
  virtual void assign(const Tensor& value);

  const VariableSpec& spec() const { return spec_; }
  const std::vector<Tensor>& copies() const { return copies_; }
  /// Moves copy `index` to other memory of the same shape; the value moves along, and tapes that have read the copy
  /// before know it after.
  void move_copy(int index, const Tensor& memory);

 protected:
  void assign_copy(int index, const Tensor& value);

 private:
  VariableSpec spec_;
  std::vector<Tensor> copies_;
};

/// A handle; copies of it are the same variable.
class Variable {
 public:
  Variable() = default;
  explicit Variable(std::shared_ptr<VariableState> state) : state_(std::move(state)) {}
  /// Made by the innermost strategy scope of this thread; outside any, one copy on the current device.
  explicit Variable(VariableSpec spec);

  bool defined() const { return state_ != nullptr; }
  const std::string& name() const { return state_->spec().name; }
  const Shape& shape() const { return state_->spec().shape; }
  bool trainable() const { return state_->spec().trainable; }
  Synchronization synchronization() const { return state_->spec().synchronization; }
  Aggregation aggregation() const { return state_->spec().aggregation; }

  /// In a replica its own copy, elsewhere the combined value. Shares memory with the variable where it can.
  Tensor value() const;
  /// Outside a replica: sets every copy. Throws InvalidArgument on another shape or dtype, LogicError in a replica.
  void assign(const Tensor& value) const;

  VariableState& state() const { return *state_; }
  friend bool operator==(const Variable& a, const Variable& b) { return a.state_ == b.state_; }

 private:
  std::shared_ptr<VariableState> state_;
};

/// Makes the variables of a thread while it lives; the innermost one decides.
using VariableCreator = std::function<std::shared_ptr<VariableState>(VariableSpec)>;
class VariableCreatorScope {
 public:
  explicit VariableCreatorScope(VariableCreator creator);
  ~VariableCreatorScope();
  VariableCreatorScope(const VariableCreatorScope&) = delete;
  VariableCreatorScope& operator=(const VariableCreatorScope&) = delete;
};

}  // namespace lockstep
