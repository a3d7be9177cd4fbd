#include "text_data.h"

#include <utility>

#include <fmt/ranges.h>

#include <lockstep/models/data/text_file.h>
#include <lockstep/models/data/text_lines.h>
#include <lockstep/models/data/time_series.h>

#include "array_data.h"

namespace lockstep::cli {
namespace {

TextVocabulary vocabulary_of(const std::string& text, const std::string& file, const DataOptions& options,
                             const ModelInput& model) {
  const std::string& given = options.vocabulary;
  const bool to_learn = given == TextVocabulary::characters || given == TextVocabulary::byte_pairs;
  if (!given.empty() && !to_learn) return TextVocabulary::load(given);
  const bool trains = options.use == DataUse::training;
  require(trains || !to_learn,
          "--vocabulary {}: only train learns a vocabulary; pass the file of the model's vocabulary", given);
  if (!to_learn)
    for (const std::string& trained : options.trained_files)
      if (std::optional<TextVocabulary> kept = TextVocabulary::beside(trained)) return std::move(*kept);
  require<InputError>(
      trains, "--data {}: found no vocabulary beside {}, where train writes it; pass its file with --vocabulary",
      options.source, fmt::join(options.trained_files, " and "));
  return TextVocabulary::learn(to_learn ? given : TextVocabulary::characters, text, file, model.outputs);
}

/// The name of each of the model's outputs.
std::vector<std::string> names_of_outputs(const TextVocabulary& vocabulary, const ModelInput& model) {
  std::vector<std::string> names = vocabulary.names();
  names.resize(static_cast<std::size_t>(model.outputs));
  return names;
}

}  // namespace

TrainingData load_text(const std::string& file, const DataOptions& options, const ModelInput& model) {
  const std::string& source = options.source;
  require(!file.empty(), "--data text:FILE needs a file name");
  require(
      model.each_step,
      "--data {}: needs a language model: token ids (n) -> outputs (n, vocabulary size); the model takes {}, or its "
      "outputs have another shape",
      source, taken_by(model));
  const std::string text = read_text(file);
  const TextVocabulary vocabulary = vocabulary_of(text, file, options, model);
  require(vocabulary.size() <= model.outputs, "--data {}: the vocabulary has {}, but the model has {} outputs", source,
          vocabulary.description(), model.outputs);
  const Tensor ids = vocabulary.encode(text, file);
  const std::int64_t steps = model.form.shape[0];
  const bool predicts = options.use == DataUse::prediction;
  const std::int64_t window = predicts ? steps : steps + 1;
  require<InputError>(ids.elements() >= window, "--data {}: has {} id(s), but the model needs at least {}{}", source,
                      ids.elements(), window, model.any_length ? "; choose a smaller --sequence-length" : "");
  const Dataset windows = timeseries_dataset_from_array(ids, {}, window, {.sequence_stride = steps});
  ArrayPart rows{.x = "the text", .examples = predicts ? windows : windows.map(split_input_target)};
  rows.targets = rows.examples->map([](const Example& pair) { return Example{pair.targets}; });
  TrainingData data = array_data(std::move(rows), {}, options, model);
  data.preparation = fmt::format("windows of {} ids, a vocabulary of {}", steps, vocabulary.description());
  data.class_names = names_of_outputs(vocabulary, model);
  data.vocabulary = vocabulary;
  if (!predicts) return data;
  data.each_step = true;
  data.train_rows.column = "token";
  for (const std::int64_t id : ids.span<std::int64_t>())
    data.train_rows.names.push_back(data.class_names[static_cast<std::size_t>(id)]);
  return data;
}

}  // namespace lockstep::cli
