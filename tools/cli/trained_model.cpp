#include "trained_model.h"

#include "model_file.h"

namespace lockstep::cli {

void TrainedModelOptions::check() const {
  check_model(model, replicas);
  require(is_model_file(model) || !weights.empty(),
          "--weights: {} has no trained weights of its own; say which file they are in", model);
  if (!weights.empty()) require_file(weights, "--weights");
}

TrainedModel make_trained_model(const TrainedModelOptions& options, const Strategy& strategy, Compiled needed) {
  DataOptions data = options.data;
  for (const std::string& file : {options.weights, options.model})
    if (!file.empty()) data.trained_files.push_back(file);
  data.use = needed == Compiled::not_needed ? DataUse::prediction : DataUse::evaluation;
  if (data.batch_size == 0) data.batch_size = std::int64_t{64} * options.replicas.replicas_of(strategy);
  auto [model, examples, ignored] = make_model_and_data(options.model, {.dtype_policy = options.dtype_policy}, data,
                                                        options.replicas, strategy, needed, options.compiled);
  if (!is_model_file(options.model)) {
    const ModelKind kind = parse_model(options.model);
    options.compiled.compile(model, kind, make_usual_optimizer(kind));
  }
  if (!options.weights.empty()) model.load_weights(options.weights);
  return {model,
          examples.name,
          examples.preparation,
          examples.test.value_or(examples.train),
          examples.test ? examples.test_examples : examples.train_examples,
          examples.class_names,
          examples.test ? examples.test_rows : examples.train_rows,
          examples.each_step};
}

}  // namespace lockstep::cli
