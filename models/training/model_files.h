#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <lockstep/models/serialization/compile_config.h>
#include <lockstep/models/training/model.h>

// Files of whole models: the layers, how they are connected, their weights, and the state of training.

namespace lockstep {

/// Writes the model in the format that the extension says, as Keras does: `.keras` is Keras 3's, `.h5` and `.hdf5` are
/// the legacy one. Keras' load_model opens it, whose own layers all layers must be. Whole or not at all. What many
/// replicas train is saved as one model, and a ParallelModel as its template, however often it is saved and loaded.
/// A model that is part of this one stays a model in the file, unless a layer belongs to several models: then all of
/// its layers are the outer one's there, without those that no output depends on. A compiled model is saved with its
/// optimizer, which Keras resumes with, too: options, learning rate, steps, and what it keeps for each variable; and
/// with loss and metrics. A loss or metric of the program's own is saved by name, which Keras asks custom_objects for;
/// a schedule of its own as the learning rate of the next step. Gradients that are accumulated for an update to come
/// are left out. Throws InvalidArgument for another extension and for an optimizer that has trained other variables
/// than this model's, InputError naming path and reason, Unsupported naming a layer that Keras does not have,
/// LogicError in a replica.
void save_model(const Model& model, const std::string& path);

/// Options that complete or replace what a file says.
struct LoadOptions {
  std::uint64_t seed = 0;  ///< of dropout
  bool compile = true;     ///< as the file says, if it does; else the model has to be compiled before it is trained
  /// Losses and metrics of the program's own that the file names.
  CustomObjects custom_objects{};
  ///@{
  /// In place of those that the file's model was compiled with, which are then not read; loss and metrics for every
  /// output. A model that was saved before compile() stays uncompiled.
  std::optional<Optimizer> optimizer{};
  std::optional<Loss> loss{};
  std::optional<std::vector<Metric>> metrics{};
  ///@}
  /// Called with a message for each metric that this project does not have, which is then skipped; else an error.
  std::function<void(const std::string&)> on_unknown_metric{};
};

/// The model of such a file, written here or by Keras, for the strategy in whose scope this is called: its layers with
/// their names, options and weights. A Sequential model becomes a functional one; models among the layers are taken
/// apart here, and are models again where this one is saved; what the old multi_gpu_model made is its template again. A
/// model that was compiled is compiled: its training continues where it stopped, on any number of replicas. Files of
/// Keras 2 are read in the same way.
/// Throws InvalidArgument for another extension, InputError naming file, layer, or what of the compilation, and what
/// would be right, LogicError in a replica.
Model load_model(const std::string& path, const LoadOptions& options = {});

}  // namespace lockstep
