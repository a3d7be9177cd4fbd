#include "array_data.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data_pipeline.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t most_classes = std::int64_t{1} << 30;  ///< of a model of the zoo

/// The number of classes of the labels of a part.
std::int64_t classes_of(const ArrayPart& part, const std::string& source) {
  require<InputError>(part.targets.has_value(),
                      "--data {}: has no labels, so the number of classes of a model of the zoo is unknown; pass a "
                      "saved model to --model",
                      source);
  constexpr std::int64_t rows_at_once = 4096;
  std::int64_t most = 0;
  for (const Example& labels : part.targets->batch(rows_at_once).epoch()) {
    require<InputError>(labels.x().dtype() != DType::f32 && labels.x().elements() > 0,
                        "--data {}: {} must have integer class labels", source, part.y);
    most = std::max(most, std::ranges::max(labels.x().to_vector<std::int64_t>()));
  }
  require<InputError>(most < most_classes, "--data {}: {} has the label {}; class labels must be below {}", source,
                      part.y, most, most_classes);
  return most + 1;
}

/// Splits the last examples of the training part off, as Keras' fit does.
ArrayPart split_off(ArrayPart& train, double fraction, const std::string& source) {
  const std::int64_t count = count_of(*train.examples);
  const auto kept = static_cast<std::int64_t>(std::floor(static_cast<double>(count) * (1 - fraction)));
  const char* const missing = kept > 0 ? "test" : "training";
  require(kept > 0 && kept < count, "--validation-split {}: leaves no {} examples, as --data {} has {} example(s)",
          fraction, missing, source, count);
  ArrayPart test{.x = train.x, .y = train.y, .examples = train.examples->skip(kept)};
  train.examples = train.examples->take(kept);
  train.targets = train.targets->take(kept);
  return test;
}

/// Keeps the first `limit` examples of a part.
void limit_part(ArrayPart& part, const std::optional<std::int64_t>& limit) {
  if (part.examples) part.examples = limited(*part.examples, limit);
  if (part.targets) part.targets = limited(*part.targets, limit);
}

}  // namespace

std::string taken_by(const ModelInput& model) {
  return fmt::format("{}{}", model.form.inputs == 1 ? "" : "pairs of ", model.form.shape);
}

TrainingData array_data(ArrayPart train, ArrayPart test, const DataOptions& options, const ModelInput& model) {
  const std::string& source = options.source;
  const ArrayPart& first_part = train.examples ? train : test;
  const std::optional<Example> first = first_part.examples->epoch().next();
  require<InputError>(first.has_value(), "--data {}: {} has no rows", source, first_part.x);
  require<InputError>(!test.examples || count_of(*test.examples) > 0, "--data {}: {} has no rows", source, test.x);
  const ExampleForm& usual = model.form;
  const Shape shape = first->x().shape();
  const bool fits = model.any_size ? shape.rank() == usual.shape.rank() : shape == usual.shape;
  require(usual.inputs == 1 && fits, "--data {}: {} has examples of shape {}, but the model takes {}", source,
          first_part.x, shape, taken_by(model));
  const std::int64_t classes =
      model.any_size ? classes_of(first_part.targets ? first_part : test, source) : usual.classes;
  limit_part(train, options.limit);
  if (options.validation_split) {
    require(!test.examples, "--validation-split: --data {} already has test examples ({})", source, test.x);
    test = split_off(train, *options.validation_split, source);
  }
  limit_part(test, options.limit_test);

  const Rescaling& chosen = rescaling_named(options.rescaling);
  const RowTransform prepare = preparation_of(chosen, first->x().dtype());
  TrainingData data{.name = std::filesystem::path(source.substr(source.find(':') + 1)).filename().string(),
                    .preparation = text_of(chosen),
                    .form = {shape, classes},
                    .train = training_batches(*first_part.examples, prepare, options),
                    .train_examples = count_of(*first_part.examples),
                    .train_targets = first_part.targets};
  if (test.examples) {
    data.test = test_batches(*test.examples, prepare, options);
    data.test_examples = count_of(*test.examples);
  }
  return data;
}

}  // namespace lockstep::cli
