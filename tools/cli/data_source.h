#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/runtime/data/dataset.h>

#include "workload.h"

namespace lockstep::cli {

/// What the data are for. Test data are enough to evaluate and to predict; to predict, labels may be missing.
enum class DataUse { training, evaluation, prediction };

struct DataOptions {
  DataUse use = DataUse::training;
  std::string source = "fashion-mnist";  ///< see data_names()
  std::string target{};                  ///< the column of a CSV file with the targets; empty: the last one
  std::optional<std::int64_t> limit{};
  std::optional<std::int64_t> limit_test{};
  std::optional<double> validation_split{};  ///< part of the training examples that become the test examples
  std::int64_t batch_size = 0;               ///< global
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool augment = false;  ///< training images are shifted and flipped
  bool drop_remainder = false;
  std::string rescaling = "none";  ///< of the values of files and image folders
};

/// The choices of --data, for the help text.
std::string data_names();

/// Batches to train and test a model on.
struct TrainingData {
  std::string name;  ///< for messages
  /// How values are prepared before the model reads them, for messages; empty for synthetic examples.
  std::string preparation;
  ExampleForm form;  ///< of the examples after preparation
  Dataset train;
  std::optional<Dataset> test{};
  std::int64_t train_examples = 0;
  std::int64_t test_examples = 0;
  /// The targets of the training examples, in the order of the source, as x; empty if there are none.
  std::optional<Dataset> train_targets{};
  std::vector<std::string> class_names{};  ///< indexed by label; empty when the source does not name classes
  /// The file of each example, sorted by name; empty when examples are not files.
  std::vector<std::filesystem::path> train_files{}, test_files{};
};

/// Throws InputError for missing or damaged data, InvalidArgument for an unknown source, one that does not suit the
/// model, and options that are for other sources.
TrainingData load_data(const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
