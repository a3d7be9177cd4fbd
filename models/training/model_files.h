#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <lockstep/models/serialization/compile_config.h>
#include <lockstep/models/training/model.h>

// Files of whole models: the layers, their connections and weights, and the state of training.

namespace lockstep {

/// Writes the model in the format of the extension, as Keras does: `.keras` is Keras 3's format, `.h5` and `.hdf5` are
/// Keras' legacy format. The file is written completely or not at all. Every worker must call save_model; the chief
/// writes. Keras' load_model can read the file, so all classes must be Keras' own or registered
/// (register_keras_serializable) here and in Keras. A model trained by several replicas is saved as one model, and a
/// ParallelModel as its template. A nested model is stored as a model. However, if a layer or a nested model belongs to
/// several models, all layers are stored as layers of the outer model; layers on which no output depends are then left
/// out. A compiled model is saved with its losses and metrics and with its optimizer's options, learning rate, steps
/// and state for each variable, so that training can resume here and in Keras. A loss or metric without a config is
/// saved by name, and Keras needs it in custom_objects; a custom schedule is saved as the learning rate of the next
/// step. Gradients accumulated for the next update are not saved, and test_step is not saved either. If layers have
/// been frozen or unfrozen since compile(), the optimizer's state is left out, with a warning. A model with a
/// train_step (CustomSteps) is saved as not compiled. Throws InputError, which names the path and the reason, if the
/// file cannot be written. Throws InvalidArgument for an extension other than these three, for an optimizer that has
/// trained variables other than this model's, for a weight that is not f32 and for a name that is not UTF-8. Throws
/// Unsupported, naming the object, for an object of a class that is not registered. Throws LogicError inside a replica.
void save_model(const Model& model, const std::string& path);

/// Options of load_model that add to the file's contents or replace them.
struct LoadOptions {
  std::uint64_t seed = 0;  ///< seed of random layers such as Dropout
  bool compile = true;     ///< whether to compile the model as the file says; if not, call compile() before training
  /// The custom losses and metrics of which the file has only the names.
  CustomObjects custom_objects{};
  ///@{
  /// If given, replace the file's optimizer, loss or metrics, which are then not read; loss and metrics apply to every
  /// output. If `optimizer` is given, the optimizer's state in the file is not restored. A model that was saved before
  /// compile() stays uncompiled.
  std::optional<Optimizer> optimizer{};
  std::optional<Loss> loss{};
  std::optional<std::vector<Metric>> metrics{};
  ///@}
  /// Called with a message for each unsupported metric, which is then skipped. If empty, an unsupported metric throws
  /// InputError.
  std::function<void(const std::string&)> on_unknown_metric{};
};

/// Loads a model from a file written by save_model or by Keras 2 or 3, with the layers' names, options and weights, for
/// the strategy in whose scope this is called. A Sequential model becomes a functional one. In the loaded model, the
/// layers of nested models are direct layers of the outer model; save_model() writes the nested models as nested again.
/// A model made by Keras' multi_gpu_model becomes its template. A model that was compiled is compiled again, with the
/// optimizer's state in the file if LoadOptions::optimizer is not given; fit then resumes its training, on any number
/// of replicas. Every worker must call load_model; if one worker cannot read the file, all throw. Throws InputError if
/// the file cannot be read, has a part that is not supported, or has a layer with a weight that is not f32; the message
/// names the file, the layer or the part of the compile configuration, and the valid values. Throws InvalidArgument for
/// an extension other than `.keras`, `.h5` and `.hdf5`, and LogicError inside a replica.
Model load_model(const std::string& path, const LoadOptions& options = {});

}  // namespace lockstep
