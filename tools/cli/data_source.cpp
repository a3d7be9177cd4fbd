#include "data_source.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <lockstep/runtime/core/parse_number.h>

#include "array_data.h"
#include "array_files.h"
#include "csv_data.h"
#include "data_pipeline.h"
#include "image_folder_data.h"
#include "nearest_name.h"
#include "published_data.h"
#include "text_data.h"
#include "tfrecord_data.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t synthetic_default = 1024;

/// Everything in --data before the colon.
constexpr std::array kinds{"fashion-mnist", "cifar10",   "csv",  "hdf5",    "images",
                           "numpy",         "synthetic", "text", "tfrecord"};

std::int64_t synthetic_count(const std::string& text) {
  if (text.empty()) return synthetic_default;
  const std::int64_t count = parse_number<std::int64_t>(text).value_or(0);
  require(count >= 1, "--data synthetic:N needs a whole number of examples of at least 1, got '{}'", text);
  return count;
}

TrainingData make_synthetic(const std::string& text, const DataOptions& options, const ModelInput& model) {
  const std::int64_t count = std::min(synthetic_count(text), options.limit.value_or(INT64_MAX));
  const Example examples = synthetic_examples(model.form, count, options.seed);
  return {.name = "synthetic data",
          .preparation = "",
          .form = model.form,
          .train = training_batches(Dataset::from_tensors(examples), {}, options),
          .train_examples = count,
          .train_targets = Dataset::from_tensors(examples.y())};
}

/// Checks that the options are for a source of this kind.
void check_options(const std::string& kind, const DataOptions& options, const ModelInput& model) {
  const auto is_one_of = [&](std::initializer_list<const char*> names) { return std::ranges::count(names, kind) > 0; };
  const bool synthetic = kind == "synthetic";
  const bool published = is_one_of({"fashion-mnist", "cifar10"});
  require(!options.augment || (model.images && !synthetic), "--augment changes images; {} has none",
          synthetic ? "--data synthetic" : "the data of this --model");
  require(options.rescaling == "none" || !(synthetic || published || kind == "text"),
          "--rescaling is for --data csv, hdf5, images, numpy and tfrecord; {} is prepared in its own way", kind);
  for (const auto& [name, given] :
       {std::pair{"--target", !options.target.empty()}, {"--inputs", !options.inputs.empty()}})
    require(!given || is_one_of({"csv", "tfrecord"}), "{} is for --data csv and tfrecord, not for {}", name, kind);
  require(options.vocabulary.empty() || kind == "text", "--vocabulary is for --data text, not for {}", kind);
  require(!options.validation_split || !(synthetic || published),
          "--validation-split is for --data csv, hdf5, images, numpy, text and tfrecord{}",
          published ? fmt::format("; {} has test examples", kind) : ", not for synthetic");
}

TrainingData read_data(const DataOptions& options, const ModelInput& model) {
  const std::size_t colon = options.source.find(':');
  const std::string kind = options.source.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : options.source.substr(colon + 1);
  require(std::ranges::find(kinds, kind) != kinds.end(), "--data '{}' is not known; choose {}{}", options.source,
          data_names(), suggestion(kind, {kinds.begin(), kinds.end()}));
  check_options(kind, options, model);
  if (kind == "synthetic") return make_synthetic(rest, options, model);
  if (kind == "csv") return load_csv(rest, options, model);
  if (kind == "hdf5") return load_hdf5(rest, options, model);
  if (kind == "numpy") return load_numpy(rest, options, model);
  if (kind == "text") return load_text(rest, options, model);
  if (kind == "tfrecord") return load_tfrecord(rest, options, model);
  require(model.images,
          "--data {}: has images, but the model takes {}; use --data csv, hdf5, numpy, text, tfrecord or synthetic",
          kind, taken_by(model));
  if (kind == "images") return load_folder(rest, options, model);
  require(model.any_size || model.form.shape == small_images.shape,
          "--data {}: has images of {}, but the model takes {}; use --data images, hdf5, numpy or synthetic", kind,
          small_images.shape, model.form.shape);
  require(model.smallest_side <= small_images.shape[0],
          "--data {}: has images of 32 x 32, but the model takes larger ones; use --data images or synthetic", kind);
  return kind == "cifar10" ? load_cifar(rest, options) : load_fashion(rest, options);
}

}  // namespace

std::string data_names() {
  return "fashion-mnist[:DIR], cifar10:DIR, csv:FILE (all columns but the target are inputs), hdf5:FILE or "
         "numpy:FILE.npz (x_train and y_train, optionally x_test and y_test; x_test and y_test are enough to evaluate, "
         "x_test to predict; numpy also x and y), images:DIR (a folder of images for each class, or such folders in "
         "train and in test, val, valid or validation), text:FILE (windows of its characters or byte pairs, each with "
         "the next one as its target), tfrecord:GLOB (tf.train.Example records, e.g. with image/encoded and "
         "image/class/label) or synthetic[:N]";
}

TrainingData load_data(const DataOptions& options, const ModelInput& model) {
  TrainingData data = read_data(options, model);
  require(!options.limit_test || data.test, "--limit-test: --data {} has no test examples; {}", options.source,
          options.use == DataUse::training ? "leave it out" : "use --limit");
  return data;
}

}  // namespace lockstep::cli
