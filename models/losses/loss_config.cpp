#include "lockstep/models/losses/loss_config.h"

#include <nlohmann/json.hpp>

#include <lockstep/models/losses/keras_losses.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json options_json(const Loss& loss, ConfigForm form) {
  Json json = object_json("keras.losses", *loss.config(), form);
  json["config"]["name"] = loss.name();
  json["config"]["reduction"] = "sum_over_batch_size";
  return json;
}

}  // namespace

Json loss_json(const Loss& loss, ConfigForm form) {
  return loss.config() ? options_json(loss, form) : function_json(loss.name(), form);
}

std::string Loss::get_config() const {
  require<Unsupported>(config_.has_value(), "the loss '{}' is a custom one, which has no config", name_);
  return options_json(*this, ConfigForm::keras_3)["config"].dump();
}

const Makers<Loss, OptionVisitor>& loss_makers() {
  static const auto makers = makers_of<Loss, OptionVisitor>(keras_losses);
  return makers;
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
  const auto maker = loss_makers().find(plain_name(read.object.class_name));
  require<InputError>(maker != loss_makers().end(), "lockstep has no loss '{}'{}; known are {}", read.object.class_name,
                      not_among(own), names_of(loss_makers()));
  return make_from(maker->second, "loss", read.object);
}

}  // namespace lockstep
