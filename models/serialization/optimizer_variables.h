#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/serialization/compile_config.h>

// What an optimizer knows, as the list of variables that it is in Keras: how many steps it has done; its learning rate,
// unless that follows a schedule; and what it keeps for each of the variables that it trains, in the order of Keras'
// `model.layers`: see `build` of Keras' optimizers. Before the first step there are the counts alone.

namespace lockstep {

/// What an optimizer trains, or will train.
struct TrainedVariables {
  std::vector<Variable> variables{};       ///< of its steps, in their order
  std::vector<Variable> in_keras_order{};  ///< the same
};

/// How a model was compiled, and what its optimizer trains.
struct Training {
  CompileConfig config;      ///< the optimizer with its state
  TrainedVariables trained;  ///< by that optimizer
};

/// Bytes that the optimizer's variables take in a file, about.
std::size_t bytes_of_optimizer(const Training& training);

/// Writes the optimizer's variables and gives their data sets. `dataset`: the one of variable number `i`, which Keras
/// calls so. The group gets, as attributes, what Keras has no option for: exclude_from_weight_decay,
/// clip_before_aggregate and that gradients are not aggregated. Throws InvalidArgument when the optimizer has trained
/// other variables.
std::vector<std::string> write_optimizer(hdf5::Writer& file, const std::string& group, const Training& training,
                                         const std::function<std::string(std::size_t i, const std::string&)>& dataset);

/// Where a file has an optimizer's variables.
struct OptimizerDatasets {
  /// Keras 2 keeps no learning rate among them; and it lists what it keeps for all variables one kind after the other,
  /// until its optimizers of TensorFlow 2.11, which are as Keras 3's.
  enum class Order { keras_3, tensorflow_2_11, keras_2 };
  std::vector<std::string> names{};  ///< of data sets
  Order order = Order::keras_3;      ///< of the names
  /// Keras before it was TensorFlow's counted a step before its update used the count: each was one further than it is
  /// here.
  bool counts_first = false;
};

/// The training's optimizer with the group's attributes and in the state that these data sets hold; none stand for the
/// first step to come. Throws InputError, naming data set and shapes, for those of another optimizer or model.
Optimizer read_optimizer(const hdf5::Reader& file, const std::string& group, const OptimizerDatasets& datasets,
                         const Training& training);

}  // namespace lockstep
