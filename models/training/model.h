#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/metrics/compiled_output.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/training/callback.h>
#include <lockstep/models/training/class_weight.h>
#include <lockstep/models/training/history.h>
#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/data/dataset.h>
#include <lockstep/strategy/core/input_options.h>

namespace lockstep {

/// A model's name, and the seed of its random numbers.
struct ModelOptions {
  /// Of the model, in its summary.
  std::string name = "functional";
  std::uint64_t seed = 0;  ///< of the initial weights and of dropout
};

/// Model::fit's options, by Keras' names.
struct FitOptions {
  int epochs = 1;         ///< the number of the last epoch, from 1
  int initial_epoch = 0;  ///< the first one's, from 0
  /// Ends an epoch after N steps; the next continues the same pass over the data. As in Keras a pass that ends
  /// before ends the epoch, with a warning.
  std::optional<std::int64_t> steps_per_epoch{};
  std::optional<Dataset> validation{};  ///< batched
  /// Called with the progress, in this order.
  std::vector<std::shared_ptr<Callback>> callbacks{};
  ClassWeight class_weight{};  ///< of the training examples, by their label
  /// Compares all copies of every mirrored variable every N steps; 0: never. On a difference fit ends with
  /// BrokenInvariant; see verify_mirrored.
  std::int64_t verify_every = 0;
  /// How batches are split over the replicas: for replicas of unequal speed. Results are equal up to rounding.
  DistributeOptions distribute{};
  /// For replicas on GPUs: a step up to its gradients is captured as CUDA graphs once its shapes have
  /// occurred a few times, and launched from then on, with the same bits. Where that is not possible, one warning says
  /// why, and steps run eagerly. Takes about the memory of one more step.
  bool cuda_graphs = false;
};

/// A functional model with Keras' training loop over all replicas of the strategy in whose scope it was made. A handle:
/// copies are the same model.
class Model {
 public:
  /// Builds the layers from `input` to `output`. See Network.
  Model(const Symbol& input, const Symbol& output, const ModelOptions& options = {});
  ///@{
  /// From several inputs, to several outputs.
  Model(const std::vector<Symbol>& inputs, const Symbol& output, const ModelOptions& options = {});
  Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options = {});
  ///@}

  /// x (n, ...) -> (n, ...) on the calling replica's weights, bf16 where the last layer's dtype policy is
  /// mixed_bfloat16; recorded by open tapes. Throws LogicError for a model of several outputs.
  Tensor operator()(const Tensor& x, Mode mode = Mode::inference) const;
  /// The same for several inputs.
  Tensor operator()(const std::vector<Tensor>& xs, Mode mode = Mode::inference) const;
  /// All outputs, in their order.
  std::vector<Tensor> run(const std::vector<Tensor>& xs, Mode mode = Mode::inference) const;
  ///@{
  /// The same for symbols: the model becomes part of another one, to which its layers belong, too. They share their
  /// weights, and are called as the other model's strategy does. Both were made in scopes of one strategy.
  Symbol operator()(const Symbol& x) const;
  Symbol operator()(const std::vector<Symbol>& xs) const;
  std::vector<Symbol> run(const std::vector<Symbol>& xs) const;
  ///@}

  ///@{
  /// Sets the training configuration, for all outputs or for each. Sample and class weights count in the losses and the
  /// weighted metrics. The model's loss is the sum of its outputs' losses, each times its loss_weight; where several
  /// outputs have one, the logs have each, too, as "softmax_loss" (without its loss_weight), and the metrics of several
  /// outputs as "softmax_accuracy". Throws InvalidArgument when two of the values have one name, for another number of
  /// entries than outputs, and when none has a loss.
  void compile(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics = {},
               const std::vector<Metric>& weighted_metrics = {});
  void compile(const Optimizer& optimizer, const std::vector<OutputTraining>& outputs);
  ///@}

  /// Trains on `batches`, a data set of global batches (Dataset::batch), each split over the replicas. The loss of a
  /// step is the sum of its examples' losses, each times its weight, over the global number of examples (not over their
  /// weights, as in Keras), however they are split.
  /// Throws LogicError before compile, InvalidArgument for options or data that do not fit: an empty data set, one
  /// without a target for each output, one with fewer examples than there are replicas, one of sample weights beside
  /// class weights; class weights for a model of several outputs; cuda_graphs with replicas on CPUs or other workers.
  History fit(const Dataset& batches, const FitOptions& options = {});
  /// Mean loss and metrics over all examples: {"loss": ..., "accuracy": ...}; sample weights count as in fit. What each
  /// replica keeps for itself, such as statistics of batch normalization, is averaged over the replicas, in
  /// fit's validation and in predict, too. Throws
  /// LogicError before compile, InvalidArgument for a data set that is empty, has no end or not a target for each
  /// output. A generator without a size has to end.
  Logs evaluate(const Dataset& batches);
  /// Outputs of all examples in the order of the data set, f32 under every dtype policy. Throws InvalidArgument when it
  /// is empty or has no end, LogicError for a model of several outputs.
  Tensor predict(const Dataset& batches);
  /// The same of each output, in their order.
  std::vector<Tensor> predict_all(const Dataset& batches);

  /// The layers and how they are connected.
  const Network& network() const;
  /// As given in the options.
  const std::string& name() const;
  ///@{
  /// As those of the network.
  const Strategy& strategy() const { return network().strategy(); }
  std::vector<Variable> variables() const { return network().variables(); }
  std::vector<Variable> trainable_variables() const { return network().trainable_variables(); }
  std::int64_t count_params() const { return network().count_params(); }
  std::string summary() const { return network().summary(name()); }
  ///@}
  /// The compiled optimizer. Throws LogicError before compile.
  const Optimizer& optimizer() const;
  /// The arguments of compile() for each output. Throws LogicError before compile.
  const std::vector<OutputTraining>& compiled_outputs() const;
  /// The compiled metrics by output, under their names in the logs, an output's weighted ones last. Throws LogicError
  /// before compile.
  std::vector<Metric> metrics() const;
  ///@{
  /// Asks fit to end after the current step; from any thread. As in Keras this ends the epoch early: it is
  /// validated, and callbacks get its on_epoch_end.
  void stop_training();
  /// The same at once, as for Ctrl-C: validation and on_epoch_end are left to the resumed run.
  void interrupt_training();
  ///@}

  /// Copies of all variables' values, in the order of variables().
  std::vector<Tensor> get_weights() const;
  /// Throws InvalidArgument for another number of them, other shapes or dtypes; the weights then stay as they are.
  void set_weights(const std::vector<Tensor>& weights) const;
  /// The whole model, as save_model() does.
  void save(const std::string& path) const;
  /// In the format that the name says, else as `.weights.h5`. Whole or not at all. Throws InputError naming the file.
  void save_weights(const std::string& path) const;
  /// Throws InputError naming file, layer and both shapes when the file does not fit this model, which then keeps its
  /// weights.
  void load_weights(const std::string& path);

  class State;  ///< models/training/model_state.h, for the sources there

 protected:
  /// Of Keras' class Functional or Sequential: files keep it where the model is part of another one.
  Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options,
        const std::string& class_name);
  /// A model of another one's layers, through which it saves and loads its weights.
  Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options,
        const Model& saved_as);

 private:
  Handle<State, "model"> state_;
};

}  // namespace lockstep
