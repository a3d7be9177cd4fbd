#include "lockstep/models/config/object_config.h"

#include <cctype>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::shared_ptr<const Json> ObjectConfig::none() {
  static const auto empty = std::make_shared<const Json>(Json::object());
  return empty;
}

std::shared_ptr<const Json> ObjectConfig::copy_of(const Json& options) { return std::make_shared<const Json>(options); }

Json keras_object(std::string_view module, std::string_view class_name) {
  return {{"module", module}, {"class_name", class_name}, {"config", Json::object()}, {"registered_name", nullptr}};
}

Json object_json(std::string_view module, const ObjectConfig& object, ConfigForm form) {
  Json json = keras_object(module, object.class_name);
  json["config"] = nlohmann::json(*object.options);  // sorts the keys
  if (form == ConfigForm::legacy_h5)
    for (const char* key : {"module", "registered_name"}) json.erase(key);
  return json;
}

Json function_json(const std::string& name, ConfigForm form) {
  if (form == ConfigForm::legacy_h5) return name;
  return {{"module", "builtins"}, {"class_name", "function"}, {"config", name}, {"registered_name", "function"}};
}

NamedObject object_from_json(const char* kind, const Json& value) {
  const Json* const function = value.is_object() && value.value("class_name", "") == "function" ? &value : nullptr;
  const Json& name = function != nullptr && value.contains("config") ? value["config"] : value;
  if (name.is_string()) return {.object = {.class_name = name.get<std::string>()}, .name = name.get<std::string>()};
  require<InputError>(value.is_object() && value.contains("class_name") && value["class_name"].is_string(),
                      "the {} is {}; it must be a name, or an object with a class_name", kind, value.dump());
  std::string own_name;
  Json options = Json::object();
  const Json config = value.value("config", Json::object());
  for (const auto& [key, option] : config.items()) {
    if (key == "name" && option.is_string())
      own_name = option.get<std::string>();
    else if (key != "dtype")
      options[key] = option;
  }
  return {.object = {value["class_name"].get<std::string>(), ObjectConfig::copy_of(options)}, .name = own_name};
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '_') plain.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return plain;
}

}  // namespace lockstep
