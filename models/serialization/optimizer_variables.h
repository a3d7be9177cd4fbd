#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/serialization/compile_config.h>

// The state of an optimizer as Keras' list of optimizer variables: the number of steps; the learning rate, unless it
// follows a schedule; the slots of each trained variable, in the order of Keras' `model.layers` (see `build` of Keras'
// optimizers); and OptimizerConfig::scalars. Before the first step the list ends before the slots.

namespace lockstep {

/// The variables that an optimizer trains.
struct TrainedVariables {
  std::vector<Variable> variables{};       ///< in the optimizer's order
  std::vector<Variable> in_keras_order{};  ///< the same variables in Keras' order
};

/// The compile() arguments of a model and the variables that its optimizer trains.
struct Training {
  CompileConfig config;      ///< the optimizer in it includes its state
  TrainedVariables trained;  ///< the variables trained by the optimizer of `config`
};

/// Approximate number of bytes of the optimizer's variables in a file.
std::size_t bytes_of_optimizer(const Training& training);

/// Writes the optimizer's variables and returns the names of their data sets. `dataset(i, name)` returns the data set
/// for variable number `i`, which Keras names `name`. Options that Keras does not have become attributes of the group:
/// exclude_from_weight_decay, clip_before_aggregate and without_aggregate (gradients are not aggregated). Throws
/// InvalidArgument when the optimizer has trained other variables.
std::vector<std::string> write_optimizer(hdf5::Writer& file, const std::string& group, const Training& training,
                                         const std::function<std::string(std::size_t i, const std::string&)>& dataset);

/// The data sets of an optimizer's variables in a file.
struct OptimizerDatasets {
  /// Order of the data sets. keras_3: steps, learning rate, then the slots variable by variable. keras_2: no learning
  /// rate, and the slots kind by kind. tensorflow_2_11: like keras_3, but without the learning rate.
  enum class Order { keras_3, tensorflow_2_11, keras_2 };
  std::vector<std::string> names{};  ///< names of the data sets
  Order order = Order::keras_3;      ///< order of the names
  /// Multi-backend Keras incremented the step count before the update read it, so its step k used t = k + 1: reading
  /// adds 1 to the stored count.
  bool counts_first = false;
};

/// The training's optimizer with the options from the group's attributes and the state from the data sets; no data sets
/// mean the state before the first step. Throws InputError naming data set and shapes when they belong to another
/// optimizer or model.
Optimizer read_optimizer(const hdf5::Reader& file, const std::string& group, const OptimizerDatasets& datasets,
                         const Training& training);

}  // namespace lockstep
