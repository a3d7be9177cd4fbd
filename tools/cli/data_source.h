#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/runtime/data/dataset.h>

#include "workload.h"

namespace lockstep::cli {

struct DataOptions {
  bool for_training = true;              ///< else data to test with are enough, and labels may be missing
  std::string source = "fashion-mnist";  ///< see data_names()
  std::optional<std::int64_t> limit{};
  std::optional<std::int64_t> limit_test{};
  std::int64_t batch_size = 0;  ///< global
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool augment = false;  ///< training images are shifted and flipped
  bool drop_remainder = false;
  std::string rescaling = "none";  ///< of the values of HDF5 files and image folders
};

/// What a source can be, for people.
std::string data_names();
/// What --rescaling can be.
std::vector<std::string> rescaling_names();

/// What a model is trained and tested on, in batches.
struct TrainingData {
  std::string name;  ///< for people
  /// What is done to values before the model reads them, for people; empty for synthetic ones.
  std::string preparation;
  ExampleForm form;  ///< of the examples as the model reads them
  Dataset train;
  std::optional<Dataset> test;
  std::int64_t train_examples = 0;
  std::int64_t test_examples = 0;
  std::vector<std::string> class_names{};  ///< by label; empty where the source has none
  /// By example in the order of the files' names; empty where an example is not a file.
  std::vector<std::filesystem::path> train_files{}, test_files{};
};

/// Throws InputError for data that is missing or damaged, InvalidArgument for a source that is not known or does not
/// suit the model.
TrainingData load_data(const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
