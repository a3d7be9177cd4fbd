#include "tfrecord_data.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/ranges.h>
#include <glob.h>

#include <lockstep/models/data/resize.h>
#include <lockstep/models/data/tfrecord.h>

#include "array_data.h"
#include "nearest_name.h"

namespace lockstep::cli {
namespace {

using Features = std::vector<RecordFeature>;

std::vector<std::filesystem::path> files_matching(const std::string& pattern) {
  glob_t found{};
  const int status = glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::filesystem::path> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  require<InputError>(status == 0, "--data tfrecord:{}: no file matches", pattern);
  return files;
}

bool has_numbers(const RecordFeature& feature) {
  return feature.type == FeatureType::numbers || feature.type == FeatureType::integers;
}

/// The features with their numbers of values, for messages.
std::string text_of(const Features& features) {
  std::vector<std::string> texts;
  for (const RecordFeature& each : features)
    texts.push_back(has_numbers(each) ? fmt::format("{} {}", each.name, each.shape) : each.name);
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// The features of the first record, and what the options make of them.
class Records {
 public:
  Records(std::vector<std::filesystem::path> files, const DataOptions& options, const ModelInput& model)
      : files_(std::move(files)), options_(options), model_(model), features_(tfrecord_features(files_)) {}

  /// Nothing for records to predict, unless their labels say how many classes there are.
  std::optional<RecordFeature> target() const {
    const std::string name = name_of_target();
    if (options_.use == DataUse::prediction && !(model_.any_size && has(name))) return std::nullopt;
    require<InputError>(
        !name.empty(),
        "--data {}: has no image/class/label or label; name the target with --target; the features are {}",
        options_.source, text_of(features_));
    RecordFeature target = named(name, "--target");
    require<InputError>(has_numbers(target), "--data {}: the target '{}' must be numeric (float or int64)",
                        options_.source, name);
    if (target.shape == Shape{1}) target.shape = {};
    return target;
  }

  /// The inputs, each with its part of the model's input as shape; an image with its number of channels.
  Features inputs() const {
    Features inputs;
    for (const std::string& name : options_.inputs) inputs.push_back(named(name, "--inputs"));
    if (inputs.empty()) inputs = usual_inputs();
    const Shape& shape = model_.form.shape;
    if (inputs.size() == 1 && inputs[0].type == FeatureType::image && model_.images) {
      inputs[0].shape = {shape.dim(-1)};  // of any size
      return inputs;
    }
    std::int64_t values = 0;
    for (const RecordFeature& each : inputs) values += each.shape.elements();
    const bool joinable = inputs.size() == 1 ? inputs[0].type != FeatureType::image
                                             : shape.rank() == 1 && std::ranges::all_of(inputs, has_numbers);
    require(joinable && values == shape.elements(),
            "--data {}: has {} as input(s), but the model takes {}; choose with --inputs from {}", options_.source,
            inputs.empty() ? "nothing" : text_of(inputs), taken_by(model_), text_of(features_));
    if (inputs.size() == 1) inputs[0].shape = shape;
    return inputs;
  }

  Dataset read(Features inputs, Features targets, std::function<Example(const Example&)> transform) const {
    return tfrecord_dataset(files_, {.inputs = std::move(inputs),
                                     .targets = std::move(targets),
                                     .transform = std::move(transform),
                                     .shuffle = options_.shuffle,
                                     .seed = options_.seed});
  }

 private:
  bool has(const std::string& name) const {
    return std::ranges::find(features_, name, &RecordFeature::name) != features_.end();
  }

  /// The feature of an option.
  RecordFeature named(const std::string& name, const char* option) const {
    const auto found = std::ranges::find(features_, name, &RecordFeature::name);
    std::vector<std::string> names;
    for (const RecordFeature& each : features_) names.push_back(each.name);
    require(found != features_.end(), "{} {}: --data {} has no feature of this name{}; its features are {}", option,
            name, options_.source, suggestion(name, names), fmt::join(names, ", "));
    return *found;
  }

  std::string name_of_target() const {
    if (!options_.target.empty()) return options_.target;
    for (const char* const usual : {"image/class/label", "label"})
      if (has(usual)) return usual;
    return "";
  }

  Features usual_inputs() const {
    for (const char* const usual : {"image/encoded", "image"})
      if (model_.images && has(usual)) return {named(usual, "--inputs")};
    Features inputs;
    for (const RecordFeature& each : features_)
      if (has_numbers(each) && each.name != name_of_target()) inputs.push_back(each);
    return inputs;
  }

  std::vector<std::filesystem::path> files_;
  const DataOptions& options_;
  const ModelInput& model_;
  Features features_;
};

/// The inputs of an example in one row.
Tensor joined(const std::vector<Tensor>& inputs) {
  std::vector<float> row;
  for (const Tensor& input : inputs) {
    const std::vector<float> values = input.to_vector<float>();
    row.insert(row.end(), values.begin(), values.end());
  }
  return Tensor::from(row, {static_cast<std::int64_t>(row.size())});
}

/// Checks the label of an example, if it has one.
void check_label(const Tensor& target, const ModelInput& model) {
  if (!target.defined() || target.dtype() != DType::i64 || target.rank() != 0 || model.outputs == 1) return;
  const auto label = target.item<std::int64_t>();
  const bool is_class = label >= 0 && (model.any_size || label < model.form.classes);
  require<InputError>(is_class || model.ignored_class == label,
                      "has the label {}, but the model has the classes 0 to {}", label, model.form.classes - 1);
}

}  // namespace

TrainingData load_tfrecord(const std::string& pattern, const DataOptions& options, const ModelInput& model) {
  require(!pattern.empty(), "--data tfrecord:GLOB needs the name of a file, or a pattern such as 'train-*'");
  const Records records(files_matching(pattern), options, model);
  const std::optional<RecordFeature> target = records.target();
  const Features inputs = records.inputs();
  ArrayPart part{.x = text_of(inputs), .y = target ? target->name : ""};
  const bool images = inputs.front().type == FeatureType::image;
  part.examples = records.read(inputs, target ? Features{*target} : Features{}, [=](const Example& read) -> Example {
    check_label(read.y(), model);
    if (images) return read.with_x(resize_bilinear(read.x(), {model.form.shape[0], model.form.shape[1]}));
    return {{read.inputs.size() > 1 ? joined(read.inputs) : read.x()}, read.targets};
  });
  if (target) part.targets = records.read({*target}, {}, {});
  DataOptions read_in_order = options;  // the records are shuffled already
  read_in_order.shuffle = false;
  return array_data(std::move(part), {}, read_in_order, model);
}

}  // namespace lockstep::cli
