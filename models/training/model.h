#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/metrics/compiled_output.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/serialization/load_weights_options.h>
#include <lockstep/models/training/custom_steps.h>
#include <lockstep/models/training/fit_options.h>
#include <lockstep/models/training/history.h>
#include <lockstep/runtime/core/handle.h>

namespace lockstep {

/// A model's name, and the seed of its random numbers.
struct ModelOptions {
  /// Name of the model, e.g. in its summary.
  std::string name = "functional";
  std::uint64_t seed = 0;  ///< seed of the initial weights and of random layers such as Dropout
};

/// A functional model with Keras' training loop over all replicas of the strategy in whose scope it was made. A handle:
/// copies refer to the same model.
class Model {
 public:
  /// Builds the layers from `input` to `output`. See Network.
  Model(const Symbol& input, const Symbol& output, const ModelOptions& options = {});
  ///@{
  /// Same as above, for several inputs and for several inputs and outputs.
  Model(const std::vector<Symbol>& inputs, const Symbol& output, const ModelOptions& options = {});
  Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options = {});
  ///@}

  /// The model's output for x, (n, ...) -> (n, ...), with the calling replica's weights; bf16 if the last layer's dtype
  /// policy is mixed_bfloat16. Recorded by open tapes. Throws LogicError for a model with several outputs.
  Tensor operator()(const Tensor& x, Mode mode = Mode::inference) const;
  /// The output for several inputs. Throws LogicError for a model with several outputs.
  Tensor operator()(const std::vector<Tensor>& xs, Mode mode = Mode::inference) const;
  /// All outputs, in the order given to the constructor.
  std::vector<Tensor> run(const std::vector<Tensor>& xs, Mode mode = Mode::inference) const;
  ///@{
  /// Calls the model on symbols of another model, which then contains this model's layers and shares their weights.
  /// Both models must be made in scopes of the same strategy. The operators throw LogicError for a model with several
  /// outputs.
  Symbol operator()(const Symbol& x) const;
  Symbol operator()(const std::vector<Symbol>& xs) const;
  std::vector<Symbol> run(const std::vector<Symbol>& xs) const;
  ///@}

  ///@{
  /// Sets the training configuration, the same for all outputs or one entry for each. Sample and class weights apply to
  /// losses and weighted metrics. The model's loss is the sum of its outputs' losses, each times its loss_weight. If
  /// several outputs have a loss, the logs also have the loss of each, e.g. "softmax_loss", not multiplied by its
  /// loss_weight; metrics of several outputs have names like "softmax_accuracy". Throws InvalidArgument if two values
  /// in the logs would have the same name, if `outputs` is not empty and does not have one entry for each output, and
  /// for a loss_weight that is not finite. fit() trains the variables that are trainable at the time of this call.
  ///
  /// Without `outputs` or without their losses, the model's loss is the sum of the losses that layers add
  /// (LayerImpl::add_loss) and the regularizers' penalties; if there are neither, training throws InvalidArgument. Data
  /// need targets only for losses and metrics.
  ///
  /// `steps` replace Keras' train_step, test_step or both. With a train_step, the logs of fit() and train_on_batch()
  /// have the values that it returns, and `outputs` are for evaluation only: without `outputs` and without a test_step,
  /// evaluate() and validation throw LogicError. A train_step may use other models and optimizers, too. Checkpoints,
  /// backups, learning rate schedules and averages of variables that fit() and its callbacks make cover only this model
  /// and `optimizer`; the program must save other models and optimizers itself. save() writes a model with a train_step
  /// as not compiled, and logs a warning if the optimizer has made steps; backups contain the optimizer's state. With a
  /// train_step, `cuda_graphs` has no effect except a warning.
  void compile(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics = {},
               const std::vector<Metric>& weighted_metrics = {});
  void compile(const Optimizer& optimizer, const std::vector<OutputTraining>& outputs = {},
               const CustomSteps& steps = {});
  ///@}

  /// Trains on `batches`, a data set of global batches (Dataset::batch); each batch is split over the replicas. The
  /// loss of a step is the weighted sum of the losses of the global batch's examples, divided by the number of these
  /// examples (as in Keras, not by the sum of the weights), plus the regularizers' penalties and the losses that layers
  /// add (LayerImpl::add_loss). The loss of an output with a mask is its mean over the unmasked time steps instead. A
  /// shuffled data set has another order in each pass, which depends on the pass's number. The first pass of this call
  /// has the number `initial_epoch` or, if that is larger, the number after the last pass of the previous call.
  ///
  /// Throws LogicError before compile, if layers have been frozen or unfrozen since compile, inside a replica and in
  /// the scope of another strategy. Throws InvalidArgument for a data set that is empty, is a single batch with fewer
  /// examples than replicas, or lacks a target for an output. Throws InvalidArgument for class weights if the data have
  /// sample weights or the model has several outputs, for cuda_graphs with replicas on CPUs or on several workers, and
  /// for other invalid options.
  History fit(const Dataset& batches, const FitOptions& options = {});
  ///@{
  /// Trains on tensors, `Example{{x}, {y}}`, possibly with sample weights: the same as fit on
  /// Dataset::from_tensors(data).shuffle().batch(batch_size), but strided tensors and tensors on GPUs are first copied
  /// to dense ones in host memory, as in evaluate, predict and the functions for one batch. Also throws the other
  /// errors of from_tensors, and InvalidArgument if validation_split leaves no examples to train on or to validate
  /// with, or is given together with `validation`.
  History fit(const Batch& data, const FitOptions& options = {});
  History fit(const Tensor& x, const Tensor& y, const FitOptions& options = {}) { return fit({{x}, {y}}, options); }
  ///@}
  /// Mean loss and metrics over all examples: {"loss": ..., "accuracy": ...}; sample weights count as in fit. A model
  /// without any loss has the loss 0. Between on_test_begin and on_test_end, variables with Synchronization::on_read
  /// and Aggregation::mean, such as batch normalization's statistics, have the mean of the replicas' values on all
  /// replicas; these two callbacks still see each replica's own values. The same holds for fit's validation and for
  /// predict. Throws LogicError before compile, inside a replica and in the scope of another strategy. Throws
  /// InvalidArgument for an empty data set, for an endless data set without EvaluateOptions::steps, and for invalid
  /// options. If any output has a loss or metric, also throws it for a data set that lacks a target for an output. A
  /// generator of unknown size must end.
  Logs evaluate(const Dataset& batches, const EvaluateOptions& options = {}) const;
  ///@{
  /// Evaluates tensors, in batches of EvaluateOptions::batch_size. Also throws the errors of Dataset::from_tensors.
  Logs evaluate(const Batch& data, const EvaluateOptions& options = {}) const;
  Logs evaluate(const Tensor& x, const Tensor& y, const EvaluateOptions& options = {}) const {
    return evaluate({{x}, {y}}, options);
  }
  ///@}
  /// The outputs for all examples, in the order of the data set, in memory of their own; floating-point numbers are f32
  /// under every dtype policy. Throws InvalidArgument for an empty data set, for an endless data set without
  /// EvaluateOptions::steps, and for invalid options. Throws LogicError for a model with several outputs, inside a
  /// replica and in the scope of another strategy.
  Tensor predict(const Dataset& batches, const EvaluateOptions& options = {}) const;
  ///@{
  /// Outputs for the rows of the inputs, in batches of EvaluateOptions::batch_size. Also throws the errors of
  /// Dataset::from_tensors.
  Tensor predict(const Tensor& x, const EvaluateOptions& options = {}) const {
    return predict(std::vector{x}, options);
  }
  Tensor predict(const std::vector<Tensor>& xs, const EvaluateOptions& options = {}) const;
  ///@}
  ///@{
  /// Like `predict`, for any number of outputs: returns one tensor for each output, in order.
  std::vector<Tensor> predict_all(const Dataset& batches, const EvaluateOptions& options = {}) const;
  std::vector<Tensor> predict_all(const std::vector<Tensor>& xs, const EvaluateOptions& options = {}) const;
  ///@}

  ///@{
  /// Trains on one global batch of tensors, which is split over the replicas as fit splits its batches; replicas may
  /// get no rows. Returns the losses and metrics of this batch alone, as Keras 3.15 does. All workers must pass the
  /// same batch. Throws LogicError in the same cases as fit, and the errors of Dataset::from_tensors. Throws
  /// InvalidArgument for a batch without rows, for missing targets in the same cases as evaluate, and for class weights
  /// in the same cases as fit.
  Logs train_on_batch(const Batch& batch, const ClassWeight& class_weight = {});
  Logs train_on_batch(const Tensor& x, const Tensor& y, const ClassWeight& class_weight = {}) {
    return train_on_batch({{x}, {y}}, class_weight);
  }
  ///@}
  ///@{
  /// Same as evaluate, predict and predict_all for a data set of this one batch.
  Logs test_on_batch(const Batch& batch) const;
  Logs test_on_batch(const Tensor& x, const Tensor& y) const { return test_on_batch({{x}, {y}}); }
  Tensor predict_on_batch(const Tensor& x) const { return predict_on_batch(std::vector{x}); }
  Tensor predict_on_batch(const std::vector<Tensor>& xs) const;
  std::vector<Tensor> predict_all_on_batch(const std::vector<Tensor>& xs) const;
  ///@}

  /// The layers and their connections.
  const Network& network() const;
  /// The name given in the options.
  const std::string& name() const;
  ///@{
  /// Same as the network's functions of these names.
  const Strategy& strategy() const { return network().strategy(); }
  std::vector<Variable> variables() const { return network().variables(); }
  std::vector<Variable> trainable_variables() const { return network().trainable_variables(); }
  std::int64_t count_params() const { return network().count_params(); }
  std::string summary() const { return network().summary(name()); }
  Layer get_layer(const std::string& name) const { return network().get_layer(name); }
  Layer get_layer(int index) const { return network().get_layer(index); }
  ///@}
  ///@{
  /// The input and output symbols given to the constructor. Like Layer::output of the model's layers, they can be
  /// inputs and outputs of further models, which share layers and weights with this model.
  const std::vector<Symbol>& inputs() const { return network().input_symbols(); }
  const std::vector<Symbol>& outputs() const { return network().output_symbols(); }
  ///@}
  /// Calls LayerImpl::set_trainable of all layers, including the layers of models inside this one. Compile again before
  /// fit().
  void set_trainable(bool trainable);
  /// The compiled optimizer. Throws LogicError before compile.
  const Optimizer& optimizer() const;
  ///@{
  /// The arguments of compile(). Throw LogicError before compile.
  const std::vector<OutputTraining>& compiled_outputs() const;
  const CustomSteps& compiled_steps() const;
  ///@}
  /// The compiled metrics of all outputs, under their names in the logs; an output's weighted metrics are last. Throws
  /// LogicError before compile.
  std::vector<Metric> metrics() const;
  ///@{
  /// Makes fit end after the current step; may be called from any thread. The epoch ends early; as in Keras, validation
  /// and the callbacks' on_epoch_end still run.
  void stop_training();
  /// Like stop_training, but without validation and on_epoch_end, which are left to the run that resumes; for Ctrl-C.
  void interrupt_training();
  ///@}

  /// Keras' reset_states of all stateful layers: the next batch starts with states of 0.
  void reset_states();
  /// Copies of all variables' values, in the order of variables().
  std::vector<Tensor> get_weights() const;
  /// Sets all variables, in the order of variables(). Throws InvalidArgument, and changes nothing, if the number,
  /// shapes or dtypes of `weights` do not match the variables.
  void set_weights(const std::vector<Tensor>& weights) const;
  /// Saves the whole model; same as save_model().
  void save(const std::string& path) const;
  /// Checks whether save() can write this model to `path`, without writing a file. Throws the errors of save() for the
  /// extension, for an object of a class that files cannot hold, for a weight that is not f32 and for a name that is
  /// not UTF-8.
  void check_can_be_saved(const std::string& path) const;
  /// Saves the weights in the format of the file's extension; other extensions mean the format of `.weights.h5`. The
  /// file is written completely or not at all. Every worker must call it; the chief writes. Throws InputError, which
  /// names the file, if it cannot be written. Throws InvalidArgument for a weight that the format does not hold and,
  /// for `.safetensors`, for a name that is not UTF-8. Throws LogicError in a replica.
  void save_weights(const std::string& path) const;
  /// Loads the weights of a file. Every worker must call it. `options` can skip weights that do not match, and map the
  /// names in other frameworks' `.safetensors` files. If the file does not fit this model, throws InputError, which
  /// names the file, the layer and both shapes, and the model keeps its weights. Throws InvalidArgument for an option
  /// that is not for this format, and for a weight that the format does not hold. Throws LogicError in a replica.
  void load_weights(const std::string& path, const LoadWeightsOptions& options = {});

  class State;  ///< defined in models/training/model_state.h, for the sources of that folder

 protected:
  /// `class_name` is Keras' class, Functional or Sequential, which files store if the model is part of another model.
  Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options,
        const std::string& class_name);
  /// A model made of `saved_as`'s layers. Files store `saved_as` in place of this model.
  Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options,
        const Model& saved_as);

 private:
  friend struct TimeDistributed;  // its constructor reads the model's description

  Handle<State, "model"> state_;
};

}  // namespace lockstep
