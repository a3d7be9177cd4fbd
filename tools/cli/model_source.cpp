#include "model_source.h"

#include <algorithm>
#include <future>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/models/losses/loss_config.h>
#include <lockstep/models/metrics/accuracy.h>
#include <lockstep/models/metrics/metric_config.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/runtime/core/logging.h>

#include "model_file.h"

namespace lockstep::cli {
namespace {

/// The examples that suit a model read from a file. `sequence_length`: see DataOptions.
ModelInput input_of(const std::string& file, const Network& network, std::optional<std::int64_t> sequence_length) {
  for (const NetworkInput& input : network.inputs())
    require<InputError>(input.shape == network.input_shape(),
                        "--model {}: has inputs of {} and {}; this program's data have inputs of one shape", file,
                        network.input_shape(), input.shape);
  Shape shape = network.input_shape();
  const std::int64_t units = network.output_shape().dim(-1);
  const bool each_step = shape.rank() == 1 && network.output_shape() == Shape{shape[0], units};
  const bool any_length = each_step && !is_known(shape);
  require(any_length || !sequence_length,
          "--sequence-length: is for models that take sequences of any length; --model {} takes inputs of shape {}",
          file, shape);
  if (any_length) {
    require(
        sequence_length.has_value(),
        "--model {}: takes any number of ids; set the number of ids per example with --sequence-length, at most the "
        "number of the model's position embeddings",
        file);
    shape = {*sequence_length};
  }
  require<InputError>(
      is_known(shape),
      "--model {}: has inputs of unknown size, {}, which this program cannot train; use the C++ library", file, shape);
  const auto inputs = static_cast<int>(network.inputs().size());
  return {.form = {shape, units == 1 ? 2 : units, inputs},
          .images = inputs == 1 && shape.rank() == 3,
          .outputs = units,
          .each_step = each_step,
          .any_length = any_length};
}

struct LoadedModel {
  Model model;
  std::string optimizer_problem{};
};

/// Whether the model was compiled with a loss, or without one but with regularizers.
bool has_loss(const Model& model) try {
  return std::ranges::any_of(model.compiled_outputs(),
                             [](const OutputTraining& output) { return output.loss.has_value(); }) ||
         model.network().regularization_loss().defined();
} catch (const LogicError&) {  // not compiled
  return false;
}

LoadedModel load(const std::string& file, std::uint64_t seed, Compiled needed, const CompileOptions& given) {
  if (needed == Compiled::not_needed) return {load_model(file, {.seed = seed, .compile = false})};
  LoadOptions options{.seed = seed,
                      .loss = given.make_loss(),
                      .metrics = given.make_metrics(),
                      .on_unknown_metric = [&](const std::string& problem) {
                        log_warning("--model {}: {}; the metric is ignored", file, problem);
                      }};
  std::string optimizer_problem;
  const auto load_as_far_as_known = [&] {
    try {
      return load_model(file, options);
    } catch (const InputError& error) {
      if (needed == Compiled::for_training) optimizer_problem = error.what();
      options.optimizer = SGD();
      options.on_unknown_metric = [](const std::string&) {};  // already reported by the first attempt
      return load_model(file, options);
    }
  };
  LoadedModel loaded{load_as_far_as_known(), optimizer_problem};
  if (!has_loss(loaded.model)) {
    require<InputError>(options.loss.has_value(), "--model {}: has no loss; give it one with --loss", file);
    loaded.model.compile(SGD(), *options.loss, options.metrics.value_or(std::vector<Metric>()));
  }
  return loaded;
}

/// Runs a small matrix product in the background: the first one on a CPU takes 25 ms longer, while oneDNN generates
/// code.
std::future<void> first_product(const Strategy& strategy) {
  if (strategy.devices().front().kind != DeviceKind::cpu) return {};
  return std::async(std::launch::async, [] {
    const Tensor square = Tensor::zeros({16, 16});
    (void)dense(square, square, {});
  });
}

}  // namespace

std::string model_or_file_names() {
  return fmt::format("{}, or a saved model ({})", model_names(), model_extensions());
}

bool is_model_file(const std::string& model) {
  return !holds_weights_alone(model) && model_format_of(model) != nullptr;
}

void check_model(const std::string& model, const ReplicaOptions& replicas) {
  require(!holds_weights_alone(model),
          "--model {}: holds weights alone; use --weights for it, and --model for the model", model);
  if (!is_model_file(model)) {
    (void)parse_model(model);
    return;
  }
  require_file(model, "--model");
  require(!replicas.is_multi_gpu_model(), "--strategy multi-gpu-model needs a model given by name, not the file {}",
          model);
}

std::optional<Loss> CompileOptions::make_loss() const try {
  if (loss.empty()) return {};
  if (!from_logits) return loss_from_json(loss, {});
  return loss_from_json({{"class_name", loss}, {"config", {{"from_logits", true}}}}, {});
} catch (InputError& error) {
  error.add_context("--loss");
  throw;
}

std::optional<std::vector<Metric>> CompileOptions::make_metrics() const try {
  if (metrics.empty()) return {};
  std::vector<Metric> made;
  for (const std::string& name : metrics) made.push_back(metric_from_json(name, {}));
  return made;
} catch (InputError& error) {
  error.add_context("--metrics");
  throw;
}

void CompileOptions::compile(Model& model, ModelKind kind, const Optimizer& optimizer) const {
  model.compile(optimizer, make_loss().value_or(cli::make_loss(kind)),
                make_metrics().value_or(std::vector<Metric>{Accuracy()}));
}

std::optional<std::int64_t> ignored_class(const Model& model) {
  const std::optional<Loss>& loss = model.compiled_outputs().front().loss;
  if (!loss || !loss->config()) return std::nullopt;
  const auto& options = *loss->config()->options;
  const auto found = options.find("ignore_class");
  return found == options.end() || !found->is_number() ? std::nullopt : std::optional(found->get<std::int64_t>());
}

void require_no_precision(const std::string& model, const std::optional<DTypePolicy>& policy) {
  require(!policy, "--precision is for models given by name; the file {} stores its own", model);
}

ModelAndData make_model_and_data(const std::string& model, ModelSettings settings, const DataOptions& data,
                                 const ReplicaOptions& replicas, const Strategy& strategy, Compiled needed,
                                 const CompileOptions& given) {
  const std::future<void> beside_reading = first_product(strategy);
  if (is_model_file(model)) {
    require(!settings.dropout, "--dropout is for models given by name, not for the file {}", model);
    require_no_precision(model, settings.dtype_policy);
    std::string optimizer_problem;
    Model loaded = replicas.make_model(strategy, [&] {
      LoadedModel found = load(model, settings.seed, needed, given);
      optimizer_problem = std::move(found.optimizer_problem);
      return std::move(found.model);
    });
    ModelInput input = input_of(model, loaded.network(), data.sequence_length);
    if (needed != Compiled::not_needed) input.ignored_class = ignored_class(loaded);
    TrainingData suiting = load_data(data, input);
    return {std::move(loaded), std::move(suiting), std::move(optimizer_problem)};
  }
  const ModelKind kind = parse_model(model);
  require(!data.sequence_length, "--sequence-length is for saved models, not for {}, which is given by name", model);
  TrainingData suiting = load_data(data, cli::input_of(kind));
  if (takes_images(kind)) settings.images = suiting.form;
  return {replicas.make_model(strategy, [&] { return make_model(kind, settings); }), std::move(suiting)};
}

}  // namespace lockstep::cli
