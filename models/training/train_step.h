#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <lockstep/models/training/model_state.h>
#include <lockstep/models/training/step_graphs.h>
#include <lockstep/models/training/totals.h>
#include <lockstep/strategy/input/distributed_batch.h>

namespace lockstep {

/// The results of a training step.
struct StepResults {
  Totals totals{};                                    ///< sums over the replicas of all workers
  std::vector<std::int64_t> rows{};                   ///< examples of each replica, for the replicas of all workers
  StepClock::Split split_ms{};                        ///< times of this worker's first replica
  std::chrono::steady_clock::time_point submitted{};  ///< when this worker's first replica had submitted the step
};

/// Training steps of a compiled model over all replicas: forward pass, backward pass, update, losses and metrics, or
/// the program's own train_step. The model must outlive it. A later compile() does not change it, but a train_step that
/// asks the model for its optimizer gets the new optimizer.
class TrainStep {
 public:
  /// Throws LogicError, naming `caller`, before compile(), if other variables are trainable now than at compile(),
  /// inside a replica, and in the scope of another strategy. Throws InvalidArgument for class weights for a model of
  /// several outputs. `caller` must outlive this object. All workers must train the same variables.
  TrainStep(const Model& model, const Model::State& state, const ClassWeight& class_weight, const char* caller);

  /// Makes replicas on GPUs run the steps as CUDA graphs, or logs a warning with the reason why they cannot. Throws
  /// InvalidArgument for replicas on CPUs and for several workers.
  void use_graphs();
  /// Builds the optimizer before the first step. Building it moves the weights, and the activations of the first step
  /// can then reuse the weights' old memory. Does not build it for a model with a train_step, because the train_step
  /// decides which variables it trains. Also does not build it for a model with a layer such as Embedding
  /// (LayerTraits::looks_up_rows), because the first step must find out which gradients are sparse. Throws LogicError
  /// if layers have been frozen or unfrozen.
  void prepare_optimizer() const;
  /// Runs a step. If `is_first`, logs a warning if predictions contradict a loss's option from_logits
  /// (warn_of_wrong_from_logits). Throws LogicError if layers have been frozen or unfrozen.
  StepResults run(const DistributedBatch& batch, bool is_first);
  /// The model as it was compiled.
  const Model::State::Compiled& compiled() const { return compiled_; }

 private:
  ///@{
  /// The results of the calling replica. on_replica calls custom_step if there is a CustomSteps::train_step, else
  /// compiled_step.
  StepResults on_replica(const Batch& part, std::int64_t global_size, bool is_first);
  StepResults custom_step(const Batch& local, std::int64_t global_size) const;
  StepResults compiled_step(const Batch& local, std::int64_t global_size, bool is_first);
  ///@}
  /// Replaces the results of this worker's replicas by the results of all workers' replicas.
  void add_other_workers(StepResults& results) const;

  const Model& model_;
  const Model::State& state_;
  const Model::State::Compiled compiled_;
  const ClassWeight class_weight_;
  const char* const caller_;
  const StepCompute compute_;
  std::atomic<bool> warned_of_graphs_ = false;
  std::vector<std::unique_ptr<StepGraphs>> graphs_;  ///< by replica; empty if graphs are off or cannot be used
};

}  // namespace lockstep
