#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <lockstep/models/training/callback.h>
#include <lockstep/models/training/class_weight.h>
#include <lockstep/runtime/data/dataset.h>
#include <lockstep/strategy/core/input_options.h>

namespace lockstep {

/// The default number of examples in a global batch made from tensors, as in Keras.
inline constexpr std::int64_t default_batch_size = 32;

/// Model::fit's options, with Keras' names.
struct FitOptions {
  ///@{
  /// For tensors only. batch_size is the number of examples in a global batch, by default 32; shuffle is whether each
  /// epoch shuffles the examples. For a data set, use Dataset::batch and Dataset::shuffle instead; fit() then throws
  /// InvalidArgument if batch_size is given.
  std::optional<std::int64_t> batch_size{};
  bool shuffle = true;
  ///@}
  int epochs = 1;         ///< the last epoch to train, counted from 1
  int initial_epoch = 0;  ///< number of epochs trained before; the first epoch to train is initial_epoch + 1
  /// Ends an epoch after N steps; the next epoch continues the same pass over the data. If the pass ends earlier, so
  /// does the epoch, with a warning, as in Keras.
  std::optional<std::int64_t> steps_per_epoch{};
  /// A data set of batches, evaluated after the epochs that validation_freq selects. Before training, fit() throws
  /// InvalidArgument if the data set is empty, is endless without validation_steps, or has no target for an output in
  /// its first batch. For this check, Dataset::peek reads the first batch, or only its first row where possible;
  /// generators and some other data sets are not read before training.
  std::optional<Dataset> validation{};
  /// For tensors only: the fraction of the examples, between 0 and 1, to validate with instead of `validation`. As in
  /// Keras, these are the last examples before shuffling; the split is the same in every epoch.
  double validation_split = 0;
  /// Validates after every N-th epoch, or after the epochs in the list, counted from 1.
  std::variant<int, std::vector<int>> validation_freq = 1;
  /// Validates with the first N batches of the validation data.
  std::optional<std::int64_t> validation_steps{};
  /// The callbacks, called in this order; validation calls their on_test_ events. fit() throws InvalidArgument for a
  /// null pointer.
  std::vector<std::shared_ptr<Callback>> callbacks{};
  /// Whether to show the progress: 0, no; 1, yes; 2, one line for each epoch. 1 and 2 add a ProgbarLogger to the
  /// callbacks, unless they have one.
  int verbose = 1;
  ClassWeight class_weight{};  ///< weights of training examples, by label
  /// Compares all copies of every mirrored variable every N steps; 0: never. Throws BrokenInvariant for a difference;
  /// see verify_mirrored.
  std::int64_t verify_every = 0;
  /// How batches are split over the replicas, e.g. for replicas of unequal speed. Results of different splits are equal
  /// up to rounding, unless a layer or loss depends on the split, such as BatchNormalization, Dropout or Dice.
  DistributeOptions distribute{};
  /// For replicas on GPUs: captures a step up to its gradients as CUDA graphs once its shapes have occurred a few
  /// times, and launches the graphs from then on. Results are bit-identical to the results of eager steps. If capture
  /// is not possible, one warning gives the reason, and steps run eagerly. Needs about as much additional memory as one
  /// step uses.
  bool cuda_graphs = false;
};

/// The options of Model::evaluate and Model::predict, with Keras' names.
struct EvaluateOptions {
  std::optional<std::int64_t> batch_size{};  ///< for tensors only: examples in a global batch, by default 32
  /// The number of batches to read, from the first one; by default all. If the data set has fewer, logs a warning.
  std::optional<std::int64_t> steps{};
  int verbose = 1;  ///< whether to show the progress: 0, no; 1, yes; 2, only one line at the end
  /// Called in this order; evaluate calls their on_test_ events, predict their on_predict_ events. Both throw
  /// InvalidArgument for a null pointer.
  std::vector<std::shared_ptr<Callback>> callbacks{};
};

}  // namespace lockstep
