#include "lockstep/models/serialization/loss_config.h"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/losses/regression.h>
#include <lockstep/models/metrics/accuracy.h>
#include <lockstep/models/metrics/confusion.h>
#include <lockstep/models/serialization/object_json.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

/// Makes one of the options that it takes.
template <class T>
using Maker = std::function<T(ObjectOptions&)>;
/// By plain_name of Keras' class or function.
template <class T>
using Makers = std::map<std::string, Maker<T>, std::less<>>;

Loss make_sparse_crossentropy(ObjectOptions& object) {
  SparseCrossentropyOptions options;
  object.take("from_logits", options.from_logits);
  return SparseCategoricalCrossentropy(options);
}

template <class Crossentropy>
Loss make_crossentropy(ObjectOptions& object) {
  CrossentropyOptions options;
  object.take("from_logits", options.from_logits);
  object.take("label_smoothing", options.label_smoothing);
  return Crossentropy(options);
}

Loss make_huber(ObjectOptions& object) {
  double delta = 1;  // what Keras makes of its own files, which do not say it
  object.take("delta", delta);
  return Huber(delta);
}

template <class T, class Base>
Maker<Base> without_options() {
  return [](ObjectOptions&) { return T(); };
}

const Makers<Loss>& losses() {
  static const Makers<Loss> makers{
      {"meansquarederror", without_options<MeanSquaredError, Loss>()},
      {"mse", without_options<MeanSquaredError, Loss>()},
      {"meanabsoluteerror", without_options<MeanAbsoluteError, Loss>()},
      {"mae", without_options<MeanAbsoluteError, Loss>()},
      {"meanabsolutepercentageerror", without_options<MeanAbsolutePercentageError, Loss>()},
      {"mape", without_options<MeanAbsolutePercentageError, Loss>()},
      {"meansquaredlogarithmicerror", without_options<MeanSquaredLogarithmicError, Loss>()},
      {"msle", without_options<MeanSquaredLogarithmicError, Loss>()},
      {"huber", make_huber},
      {"huberloss", make_huber},
      {"logcosh", without_options<LogCosh, Loss>()},
      {"poisson", without_options<Poisson, Loss>()},
      {"kldivergence", without_options<KLDivergence, Loss>()},
      {"kld", without_options<KLDivergence, Loss>()},
      {"kullbackleiblerdivergence", without_options<KLDivergence, Loss>()},
      {"sparsecategoricalcrossentropy", make_sparse_crossentropy},
      {"categoricalcrossentropy", make_crossentropy<CategoricalCrossentropy>},
      {"binarycrossentropy", make_crossentropy<BinaryCrossentropy>},
      {"bce", make_crossentropy<BinaryCrossentropy>}};
  return makers;
}

template <class T>
Metric make_with_threshold(ObjectOptions& object) {
  double threshold = 0.5;
  object.take(std::is_same_v<T, BinaryAccuracy> ? "threshold" : "thresholds", threshold);
  return T(threshold);
}

template <class T>
Metric make_top_k(ObjectOptions& object) {
  int k = 5;
  object.take("k", k);
  return T(k);
}

Metric make_auc(ObjectOptions& object) {
  AUCOptions options;
  std::string curve = "ROC";
  object.take("num_thresholds", options.num_thresholds);
  object.take("thresholds", options.thresholds);
  object.take("from_logits", options.from_logits);
  object.take("curve", curve);
  object.take_fixed("summation_method", std::string("interpolation"));
  require<InputError>(curve == "ROC" || curve == "PR", "the metric AUC: curve cannot be {}; it must be ROC or PR",
                      curve);
  options.curve = curve == "PR" ? AUCCurve::pr : AUCCurve::roc;
  return AUC(options);
}

const Makers<Metric>& metrics() {
  static const Makers<Metric> makers{
      {"accuracy", without_options<Accuracy, Metric>()},
      {"acc", without_options<Accuracy, Metric>()},
      {"binaryaccuracy", make_with_threshold<BinaryAccuracy>},
      {"categoricalaccuracy", without_options<CategoricalAccuracy, Metric>()},
      {"sparsecategoricalaccuracy", without_options<SparseCategoricalAccuracy, Metric>()},
      {"topkcategoricalaccuracy", make_top_k<TopKCategoricalAccuracy>},
      {"sparsetopkcategoricalaccuracy", make_top_k<SparseTopKCategoricalAccuracy>},
      {"precision", make_with_threshold<Precision>},
      {"recall", make_with_threshold<Recall>},
      {"auc", make_auc}};
  return makers;
}

template <class T>
std::string names_of(const Makers<T>& makers) {
  return fmt::format("{}", fmt::join(std::views::keys(makers), ", "));
}

/// Fails where Keras means more than this project does.
void take_common(ObjectOptions& object, const ObjectConfig& config) {
  const auto reduction = config.options.find("reduction");
  if (reduction != config.options.end() && reduction->second == ObjectConfig::Value("auto"))  // Keras 2
    object.pass_over("reduction");
  object.take_fixed("reduction", std::string("sum_over_batch_size"));
  object.take_fixed("axis", std::int64_t{-1});
}

template <class T>
T make(const char* kind, const Maker<T>& maker, const ObjectConfig& config) {
  ObjectOptions object(kind, config);
  try {
    take_common(object, config);
    T made = maker(object);
    object.check_all_taken();
    return made;
  } catch (const InvalidArgument& error) {
    fail<InputError>("the {} {}: {}", kind, config.class_name, error.what());
  }
}

/// One of a program's own, by the name of its function, class or object.
template <class T>
const T* find_own(const std::vector<T>& own, const NamedObject& read) {
  const auto found = std::ranges::find_if(
      own, [&](const T& object) { return object.name() == read.object.class_name || object.name() == read.name; });
  return found == own.end() ? nullptr : &*found;
}

}  // namespace

Json loss_json(const Loss& loss, ConfigForm form) {
  if (!loss.config()) return function_json(loss.name(), form);
  Json json = object_json("keras.losses", *loss.config(), form);
  json["config"]["name"] = loss.name();
  json["config"]["reduction"] = "sum_over_batch_size";
  return json;
}

Json metric_json(const Metric& metric, ConfigForm form) {
  if (!metric.config()) return function_json(metric.name(), form);
  // Keras finds out which accuracy is meant, which it does for the name alone.
  if (metric.config()->class_name == "accuracy") return metric.name() == "acc" ? "acc" : "accuracy";
  Json json = object_json("keras.metrics", *metric.config(), form);
  json["config"]["name"] = metric.name();
  return json;
}

Loss loss_from_json(const Json& value, const std::vector<Loss>& own) {
  const NamedObject read = object_from_json("loss", value);
  if (const Loss* found = find_own(own, read)) return *found;
  const auto maker = losses().find(plain_name(read.object.class_name));
  require<InputError>(maker != losses().end(),
                      "the loss '{}' is none of Keras' that this project has ({}), and none of this name is given",
                      read.object.class_name, names_of(losses()));
  return make("loss", maker->second, read.object);
}

Metric metric_from_json(const Json& value, const std::vector<Metric>& own) {
  NamedObject read = object_from_json("metric", value);
  // TensorFlow's Keras 2 says which function it is the mean of.
  if (const auto function = read.object.options.extract("fn");
      read.object.class_name == "MeanMetricWrapper" && function)
    if (const auto* name = std::get_if<std::string>(&function.mapped())) read.object.class_name = *name;
  if (const Metric* found = find_own(own, read)) return *found;
  const std::string name = plain_name(read.object.class_name);
  const auto loss = losses().find(name == "logcosherror" ? "logcosh" : name);
  const auto maker = metrics().find(name);
  require<InputError>(maker != metrics().end() || loss != losses().end(),
                      "the metric '{}' is none of Keras' that this project has ({}, and the losses {}), and none of "
                      "this name is given",
                      read.object.class_name, names_of(metrics()), names_of(losses()));
  const Metric metric = maker != metrics().end() ? make("metric", maker->second, read.object)
                                                 : MeanMetricWrapper(make("metric", loss->second, read.object));
  return read.name.empty() ? metric : metric.with_name(read.name);
}

}  // namespace lockstep
