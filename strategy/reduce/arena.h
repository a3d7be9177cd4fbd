#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/comm/flat_range.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// Throws InvalidArgument if `variables` is empty, and for a variable that is given twice, is not trainable, is not
/// f32, or has a number of copies other than `replicas`. A variable of which all replicas share one copy
/// (serves_all_replicas) is allowed, too.
void check_optimizable(const std::vector<Variable>& variables, std::size_t replicas);

/// Contiguous f32 buffers: one for each copy of a model's parameters and one with the same layout for each replica's
/// gradients. Backward writes each gradient to its place in the buffer; a bucket is a range of the buffers. Parameters
/// are laid out in the reverse of the given order. Variables are usually given in the order of creation, and backward
/// finishes their gradients roughly in reverse, so the gradients of a bucket are final at about the same time. Each
/// parameter begins on a cache line; the padding between parameters stays 0.
class ParameterArena {
 public:
  /// Moves the variables' copies into the arena and keeps their values. Throws the errors of check_optimizable.
  ParameterArena(std::vector<Variable> variables, const std::vector<LogicalDevice>& devices);

  /// The variables in the order given.
  const std::vector<Variable>& variables() const { return variables_; }
  /// Number of elements of each buffer, including padding.
  std::int64_t elements() const { return elements_; }
  /// Padded sizes of the parameters in elements, in the order of the layout, for plan_buckets.
  std::vector<std::int64_t> sizes_in_order() const;
  /// Range of variable number `variable` in each buffer, without padding.
  FlatRange range_of(int variable) const {
    const auto i = static_cast<std::size_t>(variable);
    return {offsets_[i], offsets_[i] + variables_[i].shape().elements()};
  }
  /// Destinations of replica `replica`'s gradients, in the order of `variables()`.
  std::span<const GradientTape::Slot> slots(int replica) const { return slots_[replica]; }
  /// Whether the variables' memory is still in this arena; false once another optimizer's arena has taken over one of
  /// the variables.
  bool holds_variables() const;

  ///@{
  /// First elements of the buffers: parameters by copy, gradients by replica.
  std::span<float* const> parameters() const { return parameter_pointers_; }
  std::span<float* const> gradients() const { return gradient_pointers_; }
  ///@}
  /// Replica `replica`'s gradients as one tensor.
  const Tensor& gradients_of(int replica) const { return gradients_[static_cast<std::size_t>(replica)]; }

 private:
  void move_in(int copy);
  void add_gradients(int replica, const LogicalDevice& device);

  std::vector<Variable> variables_;
  std::vector<std::int64_t> offsets_;  ///< offset of each variable
  std::int64_t elements_ = 0;
  std::vector<Tensor> parameters_;  ///< by copy
  std::vector<Tensor> gradients_;   ///< by replica
  std::vector<float*> parameter_pointers_;
  std::vector<float*> gradient_pointers_;
  std::vector<std::vector<GradientTape::Slot>> slots_;  ///< by replica
};

}  // namespace lockstep
