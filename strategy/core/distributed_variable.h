#pragma once

#include <lockstep/runtime/variable/variable.h>

namespace lockstep {

/// One independent copy for each replica, which only that replica writes; outside a replica the copies are read
/// combined by the variable's aggregation (batch-norm statistics: mean; metrics: sum).
class SyncOnReadVariable final : public VariableState {
 public:
  using VariableState::VariableState;
  /// The combined value, in new memory. Throws InvalidArgument when the aggregation is none.
  Tensor read() const override;
  /// Sets the copies so that `read` gives `value`: each copy to it, or for a sum to its equal share.
  void assign(const Tensor& value) override;
};

/// The variable that a strategy with a copy on each of `devices` makes for `spec`: a mirrored one, which is
/// VariableState itself, or one that is combined on reading.
std::shared_ptr<VariableState> make_distributed_variable(VariableSpec spec, const std::vector<LogicalDevice>& devices);

}  // namespace lockstep
