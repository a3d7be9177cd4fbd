#include "lockstep/models/losses/loss_config.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include <lockstep/models/losses/keras_losses.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json options_of(const Loss& loss) {
  Json options = sorted_options(*loss.config());
  options["name"] = loss.name();
  options["reduction"] = "sum_over_batch_size";
  return options;
}

}  // namespace

Json loss_json(const Loss& loss, ConfigForm form) {
  if (!loss.config()) return function_json(loss.name(), form);
  const std::string object = "the loss '" + loss.name() + "'";
  return object_json(loss_classes().file_class(object, *loss.config(), names_of_common_options), options_of(loss),
                     form);
}

Loss::Loss(std::string name, Function function, std::optional<ObjectConfig> config)
    : name_(std::move(name)),
      function_(std::move(function)),
      config_(std::move(config)),
      is_keras_(loss_classes().is_keras(config_)) {
  check_finite(config_);
}

std::string Loss::get_config() const {
  require<Unsupported>(config_.has_value(), "the loss '{}' is a custom one, which has no config", name_);
  return options_of(*this).dump();
}

ClassRegistry<Loss, OptionVisitor>& loss_classes() {
  static ClassRegistry<Loss, OptionVisitor> classes(
      "keras.losses", makers_of<Loss, OptionVisitor>(std::tuple_cat(keras_losses_and_metrics, keras_losses_alone)));
  return classes;
}

void check_finite(const std::optional<ObjectConfig>& config) {
  if (!config) return;
  for (const auto& [key, value] : config->options->items())
    for (const Json& number : value.is_array() ? value : Json::array({value}))
      if (number.is_number_float() && !std::isfinite(number.get<double>()))
        fail<InvalidArgument>("{}: {} must be finite, got {}", config->class_name, key, number.get<double>());
}

void read_common_options(OptionVisitor& visitor) {
  visitor.passed_over("fn");                                  // wrappers in TensorFlow's Keras 2 have it
  if (visitor.values().value("reduction", Json()) == "auto")  // in Keras 2
    visitor.passed_over("reduction");
  else
    visitor.fixed("reduction", "sum_over_batch_size");
}

Loss loss_from_json(const Json& value, const std::vector<Loss>& own) {
  const NamedObject read = object_from_json("loss", value);
  if (const Loss* found = find_own(own, read)) return *found;
  const auto maker = loss_classes().find(read.object.class_name);
  require<InputError>(maker != nullptr, "lockstep has no loss '{}'{}; known are {}", read.object.class_name,
                      not_among(own), loss_classes().known_names());
  return make_from(maker, "loss", read.object);
}

}  // namespace lockstep
