#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/serialization/compile_config.h>

// The state of an optimizer as Keras' list of optimizer variables. Its elements are the number of steps; the learning
// rate, unless it follows a schedule; the slots of each trained variable, in the order of Keras' `model.layers` (see
// `build` of Keras' optimizers); and OptimizerConfig::scalars. Before the first step, the list has neither slots nor
// scalars.

namespace lockstep {

/// The variables that an optimizer trains.
struct TrainedVariables {
  std::vector<Variable> variables{};       ///< in the optimizer's order
  std::vector<Variable> in_keras_order{};  ///< the same variables in Keras' order
};

/// The compile() arguments of a model and the variables that its optimizer trains.
struct Training {
  CompileConfig config;      ///< includes the optimizer with its state
  TrainedVariables trained;  ///< the variables that the optimizer of `config` trains
};

/// Approximate number of bytes of the optimizer's variables in a file.
std::size_t bytes_of_optimizer(const Training& training);

/// Writes the optimizer's variables and returns the names of their data sets. `dataset(i, name)` returns the data set
/// for variable number `i`, which Keras names `name`. Options that Keras does not have become attributes of the group:
/// exclude_from_weight_decay, clip_before_aggregate and without_aggregate (gradients are not aggregated). Throws
/// InvalidArgument if the optimizer's slots are for variables of other shapes than `training.trained`.
std::vector<std::string> write_optimizer(hdf5::Writer& file, const std::string& group, const Training& training,
                                         const std::function<std::string(std::size_t i, const std::string&)>& dataset);

/// The data sets of an optimizer's variables in a file.
struct OptimizerDatasets {
  /// Order of the data sets. keras_3: the steps, the learning rate, and the slots by variable. tensorflow_2_11: like
  /// keras_3, but without the learning rate. keras_2: the steps, and the slots by name.
  enum class Order { keras_3, tensorflow_2_11, keras_2 };
  std::vector<std::string> names{};  ///< names of the data sets
  Order order = Order::keras_3;      ///< order of the names
  /// Whether 1 is added to the stored number of steps. In multi-backend Keras, the update read the number after it had
  /// been incremented, so that step k used t = k + 1.
  bool counts_first = false;
};

/// Returns the training's optimizer with the options from the group's attributes and the state from the data sets.
/// Without data sets, it has made no step. Throws InputError, naming the data set and the shapes, if the data sets
/// belong to another optimizer or model.
Optimizer read_optimizer(const hdf5::Reader& file, const std::string& group, const OptimizerDatasets& datasets,
                         const Training& training);

}  // namespace lockstep
