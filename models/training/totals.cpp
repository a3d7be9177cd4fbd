#include "lockstep/models/training/totals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/by_example.h>
#include <lockstep/models/losses/loss.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep {
namespace {

/// Removes the sign of a NaN, which depends on the processor and would show in texts.
double without_sign_of_nan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

/// One sample weight for each of `examples`, (examples) f32.
Tensor example_weights(const Tensor& weight, std::int64_t examples) {
  require(weight.elements() == examples, "{} examples need as many sample weights, got {}", examples, weight);
  const Tensor by_example = reshape(weight, {examples});
  return weight.dtype() == DType::f32 ? by_example : cast(by_example, DType::f32);
}

/// The sum of loss(y_true, y_pred) * weight over the batch, a scalar. An undefined weight means ones.
Tensor weighted_loss(const Loss& loss, const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) {
  const Tensor losses = loss(y_true, y_pred);
  require(losses.shape() == Shape{y_pred.dim(0)}, "{} must give one value for each of {} examples, it gave {}",
          loss.name(), y_pred.dim(0), losses);
  return weight.defined() ? sum(losses * example_weights(weight, losses.elements())) : sum(losses);
}

/// The loss of each step, (n, time), as Keras computes it. Keras' losses get one row for each step, and a custom loss
/// gets the whole output.
Tensor step_losses(const Loss& loss, const Tensor& y_true, const Tensor& y_pred, const Shape& steps) {
  const bool by_row = loss.keras_config() != nullptr;
  const Tensor losses = by_row ? loss(steps_of(y_true), predicted_steps(y_pred)) : loss(y_true, y_pred);
  const Shape expected = by_row ? Shape{steps.elements()} : steps;
  require(losses.shape() == expected,
          "{} must give one value for each time step {} of an output with a mask, it gave {}", loss.name(), steps,
          losses);
  return reshape(losses, steps);
}

/// Replaces a loss with an ignored class for an output with a mask: the same loss without an ignored class, labels in
/// which another class replaces the ignored one, and a mask that also leaves out the steps with the ignored class.
struct WithoutClass {
  Loss loss;
  Tensor labels;
  Tensor mask;
};

/// Empty for losses without ignore_class.
std::optional<WithoutClass> without_ignored_class(const Loss& loss, const Tensor& y_true, const Tensor& mask) {
  using Json = nlohmann::ordered_json;
  if (loss.keras_config() == nullptr) return {};
  const Json& options = *loss.keras_config()->options;
  if (!options.value("ignore_class", Json()).is_number()) return {};
  require(y_true.elements() == mask.elements(), "{} takes a label for each time step, got {} for a mask {}",
          loss.name(), y_true, mask.shape());
  const bool is_narrow = y_true.dtype() == DType::u8 || y_true.dtype() == DType::bf16;
  const Tensor wide = is_narrow ? cast(y_true, DType::f32) : y_true;  // u8 does not hold -1, nor bf16 1001
  const Tensor labels = reshape(wide, mask.shape());
  const Tensor counts = logical_and(mask, not_equal(labels, options["ignore_class"].get<double>()));
  return WithoutClass{.loss = SparseCategoricalCrossentropy({.from_logits = options.value("from_logits", false)}),
                      .labels = where(counts, labels, 0.0),
                      .mask = counts};
}

/// Like weighted_loss, but for the steps for which `mask`, (n, time), is true. It is scaled so that its sum over the
/// replicas, divided by `global_size`, is the mean over these steps on all replicas.
Tensor masked_loss(const Loss& loss, const Tensor& y_true, const Tensor& y_pred, const Tensor& weight,
                   const Tensor& mask, std::int64_t global_size) {
  check_steps(loss.name(), loss.keras_config(), y_true, mask);
  if (const auto other = without_ignored_class(loss, y_true, mask))
    return masked_loss(other->loss, other->labels, y_pred, weight, other->mask, global_size);
  const Tensor kept = cast(mask, DType::f32);
  const Tensor count = maximum(sum_over_replicas(sum(kept)), 1);
  const Tensor weights = weight.defined() ? kept * expand_dims(example_weights(weight, mask.dim(0)), 1) : kept;
  const Tensor total = sum(step_losses(loss, y_true, y_pred, mask.shape()) * weights);
  return total * static_cast<double>(global_size) / count;
}

std::vector<Metric::Sums> metric_sums(const CompiledOutput& output, const Tensor& y_true, const Tensor& y_pred,
                                      const Tensor& weight, const Tensor& mask) {
  std::vector<Metric::Sums> sums;
  for (const auto& [metric, weighted] : output.metrics)
    sums.push_back(metric.update(y_true, y_pred, weighted ? weight : Tensor(), mask));
  return sums;
}

/// Warns if predictions come from a softmax or sigmoid. For losses that take logits.
void warn_of_probabilities(const Loss& loss, const Tensor& y_pred) {
  for (const char* activation : {"softmax", "sigmoid"}) {
    if (y_pred.origin(activation).defined())
      log_warning(
          "loss '{0}' takes logits, and predictions are the result of a {1}, which training applies twice: remove the "
          "{1} or from_logits = true",
          loss.name(), activation);
  }
}

/// Warns if predictions are outside [0, 1]. For losses that take probabilities.
void warn_of_logits(const Loss& loss, const Tensor& y_pred) {
  const std::vector<float> values = as_f32(y_pred).to_vector<float>();
  const auto [least, most] = std::ranges::minmax(values);
  constexpr float rounding = 1e-3F;
  if (least < -rounding || most > 1 + rounding)
    log_warning(
        "loss '{}' takes probabilities, and predictions of the first step lie between {} and {}: logits need "
        "from_logits = true, or a softmax or sigmoid at the model's end",
        loss.name(), least, most);
}

std::string names_text(const std::optional<std::vector<std::string>>& names) {
  return names ? fmt::format("[{}]", fmt::join(*names, ", ")) : "losses and metrics";
}

/// A number that is very likely another one for other names.
double hash_of(const std::optional<std::vector<std::string>>& names) {
  return static_cast<double>(std::hash<std::string>()(names_text(names)) >> 11);
}

double sum_of(const std::string& name, const StepValue& value) {
  if (const double* const number = std::get_if<double>(&value.sum)) return *number;
  const Tensor& sum = std::get<Tensor>(value.sum);
  require(sum.defined() && sum.rank() == 0 && is_real(sum.dtype()),
          "the sum of a step's value must be a scalar of floating-point numbers, '{}' is {}", name, sum);
  return static_cast<double>(as_f32(sum).item<float>());
}

}  // namespace

Totals& Totals::operator+=(const Totals& other) {
  if (losses.empty()) names = other.names;
  if (!other.losses.empty())
    require(names == other.names, "all steps must return values of the same names, got {}, and {} from another step",
            names_text(names), names_text(other.names));
  examples += other.examples;
  loss += other.loss;
  losses.resize(std::max(losses.size(), other.losses.size()));
  metrics.resize(losses.size());
  for (std::size_t output = 0; output < other.losses.size(); ++output) {
    losses[output] += other.losses[output];
    metrics[output].resize(other.metrics[output].size());
    for (std::size_t i = 0; i < metrics[output].size(); ++i) add_sums(metrics[output][i], other.metrics[output][i]);
  }
  return *this;
}

std::vector<double> Totals::numbers() const {
  if (examples == 0 && losses.empty()) return {};
  std::vector<double> all{hash_of(names), static_cast<double>(examples), loss, static_cast<double>(losses.size())};
  all.insert(all.end(), losses.begin(), losses.end());
  for (const std::vector<Metric::Sums>& of_output : metrics) {
    all.push_back(static_cast<double>(of_output.size()));
    for (const Metric::Sums& sums : of_output) {
      all.push_back(static_cast<double>(sums.size()));
      all.insert(all.end(), sums.begin(), sums.end());
    }
  }
  return all;
}

Totals Totals::from_numbers(std::span<const double> numbers, const std::optional<std::vector<std::string>>& names) {
  if (numbers.empty()) return {};
  const auto take = [&] {
    const double next = numbers.front();
    numbers = numbers.subspan(1);
    return next;
  };
  const auto take_many = [&](std::size_t count) {
    const std::vector<double> values(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count));
    numbers = numbers.subspan(count);
    return values;
  };
  require(take() == hash_of(names), "the steps of all workers must return values of the same names; on this worker: {}",
          names_text(names));
  Totals totals{.examples = static_cast<std::int64_t>(take()), .names = names};
  totals.loss = take();
  totals.losses = take_many(static_cast<std::size_t>(take()));
  totals.metrics.resize(totals.losses.size());
  for (std::vector<Metric::Sums>& of_output : totals.metrics) {
    of_output.resize(static_cast<std::size_t>(take()));
    for (Metric::Sums& sums : of_output) sums = take_many(static_cast<std::size_t>(take()));
  }
  return totals;
}

void Totals::add_to_every_loss(const Tensor& penalty) {
  if (examples == 0) return;  // what a layer adds to the loss of no examples can be NaN
  loss += static_cast<double>(examples) * static_cast<double>(penalty.item<float>());
}

double Totals::mean_loss() const {
  if (!names) return without_sign_of_nan(loss / static_cast<double>(examples));
  const Logs values = results({});
  const auto found = values.find("loss");
  return found == values.end() ? 0 : found->second;
}

Logs Totals::results(const std::vector<CompiledOutput>& outputs) const {
  Logs logs;
  if (examples == 0) return logs;
  if (names) {
    for (std::size_t i = 0; i < names->size(); ++i)
      logs[(*names)[i]] = without_sign_of_nan(divide_no_nan(metrics[0][i][0], metrics[0][i][1]));
    return logs;
  }
  logs["loss"] = mean_loss();
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    const CompiledOutput& compiled = outputs[output];
    if (!compiled.loss_name.empty())
      logs[compiled.loss_name] = without_sign_of_nan(losses[output] / static_cast<double>(examples));
    for (std::size_t i = 0; i < compiled.metrics.size(); ++i) {
      const Metric& metric = compiled.metrics[i].metric;
      logs[metric.name()] = without_sign_of_nan(metric.result(metrics[output][i]));
    }
  }
  return logs;
}

Totals custom_totals(const StepValues& values, std::int64_t examples) {
  Totals totals{.examples = examples, .losses = {0}, .metrics = {{}}, .names = std::vector<std::string>()};
  for (const auto& [name, value] : values) {
    require(!name.empty() && !name.starts_with("val_") && std::ranges::count(training_values, name) == 0,
            "a step returned a value named '{}', which fit's logs use otherwise", name);
    totals.names->push_back(name);
    const double sum = sum_of(name, value);
    totals.metrics[0].push_back({value.weight == 0 ? 0 : sum, value.weight});  // a mean of no rows is NaN
  }
  return totals;
}

void check_targets(const Batch& batch, const std::vector<CompiledOutput>& compiled) {
  const bool reads_targets = std::ranges::any_of(
      compiled, [](const CompiledOutput& output) { return output.loss || !output.metrics.empty(); });
  if (!reads_targets) return;
  const std::size_t outputs = compiled.size();
  const std::size_t targets = batch.targets.size();
  const std::size_t weights = batch.sample_weights.size();
  require(targets > 0, "losses and metrics need a data set with targets, this one has only x");
  require(targets == outputs, "a model of {} output(s) needs as many targets, the data set has {}", outputs, targets);
  require(weights <= 1 || weights == outputs,
          "a model of {} output(s) takes one sample weight of an example, or one for each output, the data set has {}",
          outputs, weights);
}

BatchLosses batch_losses(const std::vector<CompiledOutput>& outputs, const Batch& batch,
                         const Predictions& predictions) {
  check_targets(batch, outputs);
  BatchLosses losses;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    losses.by_output.emplace_back();
    if (!outputs[i].loss) continue;
    const double loss_weight = outputs[i].loss_weight;
    const auto& [y_preds, masks, global_size] = predictions;
    const Tensor weight = batch.sample_weight(i);
    const Tensor loss = masks[i].defined()
                            ? masked_loss(*outputs[i].loss, batch.targets[i], y_preds[i], weight, masks[i], global_size)
                            : weighted_loss(*outputs[i].loss, batch.targets[i], y_preds[i], weight);
    losses.by_output[i] = loss;
    const Tensor part = loss_weight == 1 ? loss : loss * loss_weight;
    losses.loss = losses.loss.defined() ? losses.loss + part : part;
  }
  return losses;
}

void warn_of_wrong_from_logits(const std::vector<CompiledOutput>& outputs, const std::vector<Tensor>& y_preds) {
  const NoGradientScope not_recorded;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ObjectConfig* const config = outputs[i].loss ? outputs[i].loss->keras_config() : nullptr;
    if (config == nullptr || !config->options->contains("from_logits") || y_preds[i].elements() == 0) continue;
    if (config->options->at("from_logits"))
      warn_of_probabilities(*outputs[i].loss, y_preds[i]);
    else
      warn_of_logits(*outputs[i].loss, y_preds[i]);
  }
}

Totals batch_totals(const std::vector<CompiledOutput>& outputs, const Batch& batch, const Predictions& predictions,
                    const BatchLosses& losses) {
  const NoGradientScope not_recorded;
  const std::vector<Tensor>& y_preds = predictions.y_preds;
  Totals totals{.examples = y_preds.front().dim(0)};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& loss = losses.by_output[i];
    totals.losses.push_back(loss.defined() ? static_cast<double>(loss.item<float>()) : 0);
    totals.loss += outputs[i].loss_weight * totals.losses[i];
    totals.metrics.emplace_back();
    if (outputs[i].metrics.empty()) continue;
    totals.metrics.back() =
        metric_sums(outputs[i], batch.targets[i], y_preds[i], batch.sample_weight(i), predictions.masks[i]);
  }
  return totals;
}

}  // namespace lockstep
