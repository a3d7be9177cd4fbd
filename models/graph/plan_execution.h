#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <lockstep/models/graph/plan.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The mask of a layer's result, or an undefined tensor. `masks`: see LayerCall::masks.
Tensor mask_of(const LayerImpl& layer, std::span<const Tensor> inputs, std::span<const Tensor> masks);

/// Executes a network's plan. Tapes also hold it, because they recompute the steps of a RematScope.
class PlanExecution : public std::enable_shared_from_this<PlanExecution> {
 public:
  /// `placed`: whether any step has a PlanStep::device. `masked`: whether results may have masks.
  PlanExecution(Plan plan, const std::vector<Layer>& layers, bool placed, bool masked);

  /// See Network::run. `input_masks` has an element for each input, undefined for an input without a mask; it is empty
  /// if no input has a mask. Preconditions: the inputs have the network's shapes; if an input has a mask, masked() is
  /// true.
  std::vector<Tensor> run(const std::vector<Tensor>& xs, Mode mode, std::vector<Tensor>* masks,
                          std::span<const Tensor> input_masks = {}) const;
  /// The steps.
  const Plan& plan() const { return plan_; }
  /// Whether results may have masks.
  bool masked() const { return masked_; }

 private:
  struct Placed;  ///< a result of a call of the network
  struct Run;     ///< one call of the network
  Run start(Mode mode, bool placed, const LogicalDevice& home, std::size_t inputs) const;
  void run_steps(std::size_t begin, std::size_t end, Run& run) const;
  /// Runs the steps of a RematScope.
  void run_recomputed(std::size_t begin, std::size_t end, Run& run) const;
  /// Computes the result of a step, and its mask.
  void run_step(std::size_t step, Run& run) const;

  Plan plan_;
  std::vector<Layer> layers_;
  bool placed_;
  bool masked_;
};

}  // namespace lockstep
