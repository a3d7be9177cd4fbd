#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/runtime/data/dataset.h>

#include "text_vocabulary.h"
#include "workload.h"

namespace lockstep::cli {

/// What the data are for. Evaluation and prediction do not need a training part; prediction does not need labels.
enum class DataUse { training, evaluation, prediction };

struct DataOptions {
  DataUse use = DataUse::training;
  std::string source = "fashion-mnist";  ///< see data_names()
  std::string target{};                  ///< the column or feature with the targets; empty: the source's default
  std::vector<std::string> inputs{};     ///< the columns or features with the inputs; empty: all but the target
  /// For a text: `characters` or `byte-pairs` to learn a vocabulary, or the name of a vocabulary file. If empty: the
  /// vocabulary beside one of trained_files; if there is no such vocabulary, train learns one of characters.
  std::string vocabulary{};
  /// Number of ids per example; only for models that take sequences of any length.
  std::optional<std::int64_t> sequence_length{};
  /// The files of the model and its weights. A text's vocabulary is read from beside the first of these files that has
  /// a vocabulary (TextVocabulary::beside).
  std::vector<std::string> trained_files{};
  std::optional<std::int64_t> limit{};       ///< largest number of training examples
  std::optional<std::int64_t> limit_test{};  ///< largest number of test examples
  std::optional<double> validation_split{};  ///< fraction of the training examples that become the test examples
  std::int64_t batch_size = 0;               ///< number of examples in a global batch
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool augment = false;  ///< whether training images are randomly shifted and flipped
  bool drop_remainder = false;
  std::string rescaling = "none";  ///< how the values of files and image folders are scaled; see --rescaling
};

/// The choices of --data, for the help text.
std::string data_names();

/// Texts that name the rows of predictions.
struct RowNames {
  std::string column{};              ///< the column's header in the CSV, e.g. "file" or "token"
  std::vector<std::string> names{};  ///< in the order of the source; empty when rows have no names
};

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
  /// The training targets, in the order of the source, as the inputs x() of examples; nullopt if there are none.
  std::optional<Dataset> train_targets{};
  std::vector<std::string> class_names{};      ///< indexed by label; empty when the source does not name classes
  RowNames train_rows{}, test_rows{};          ///< the files, sorted by name, or the tokens of a text
  bool each_step = false;                      ///< whether predictions have a row for each step of an example
  std::optional<TextVocabulary> vocabulary{};  ///< of a text; nullopt for other data
};

/// Throws InputError for missing or damaged data. Throws InvalidArgument for an unknown source, for a source that does
/// not suit the model, and for options that the source does not support.
TrainingData load_data(const DataOptions& options, const ModelInput& model);

}  // namespace lockstep::cli
