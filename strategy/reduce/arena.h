#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/comm/flat_range.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// All parameters of a model in one contiguous f32 buffer for each copy, their gradients in another of the same layout
/// for each replica: backward writes each gradient to its place, and a bucket is a range of both. Parameters lie in the
/// reverse order of creation, which is about the order in which backward finishes them, each on a cache-line border;
/// the padding between them stays 0.
class ParameterArena {
 public:
  /// Moves the variables' copies into the arena; their values stay. Throws InvalidArgument when there are none, when
  /// one is given twice, is not trainable or not f32, or has neither a copy for each device nor, like all others, one
  /// for all of them.
  ParameterArena(std::vector<Variable> variables, const std::vector<LogicalDevice>& devices);

  /// As given, in their order.
  const std::vector<Variable>& variables() const { return variables_; }
  /// Length of each buffer, padding included.
  std::int64_t elements() const { return elements_; }
  /// Padded length of each parameter in the order of the layout, for plan_buckets.
  std::vector<std::int64_t> sizes_in_order() const;
  /// Where variable number `variable` lies in each buffer, without padding.
  FlatRange range_of(int variable) const {
    const auto i = static_cast<std::size_t>(variable);
    return {offsets_[i], offsets_[i] + variables_[i].shape().elements()};
  }
  /// Where replica `replica`'s gradients go, in the order of `variables()`.
  std::span<const GradientTape::Slot> slots(int replica) const { return slots_[replica]; }
  /// False once another arena has taken one of the variables over.
  bool holds_variables() const;

  ///@{
  /// The first element of each buffer: of parameters by copy, of gradients by replica.
  std::span<float* const> parameters() const { return parameter_pointers_; }
  std::span<float* const> gradients() const { return gradient_pointers_; }
  ///@}
  /// Replica `replica`'s gradients as one tensor.
  const Tensor& gradients_of(int replica) const { return gradients_[static_cast<std::size_t>(replica)]; }

 private:
  void move_in(int copy);
  void add_gradients(int replica, const LogicalDevice& device);

  std::vector<Variable> variables_;
  std::vector<std::int64_t> offsets_;  ///< of each variable
  std::int64_t elements_ = 0;
  std::vector<Tensor> parameters_;  ///< by copy
  std::vector<Tensor> gradients_;   ///< by replica
  std::vector<float*> parameter_pointers_;
  std::vector<float*> gradient_pointers_;
  std::vector<std::vector<GradientTape::Slot>> slots_;  ///< by replica
};

}  // namespace lockstep
