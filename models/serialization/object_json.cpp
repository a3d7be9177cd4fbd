#include "lockstep/models/serialization/object_json.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/keras_names.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

ObjectConfig::Value option_value(const Json& value, const std::string& place) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  const bool numbers = value.is_array() && std::ranges::all_of(value, [](const Json& x) { return x.is_number(); });
  require<InputError>(numbers, "{} cannot be {}; it must be a number, a flag, text or a list of numbers", place,
                      value.dump());
  if (std::ranges::all_of(value, [](const Json& x) { return x.is_number_integer(); }))
    return value.get<std::vector<std::int64_t>>();
  return value.get<std::vector<double>>();
}

}  // namespace

Json object_json(std::string_view module, const ObjectConfig& object, ConfigForm form) {
  Json json = keras_object(module, object.class_name);
  for (const auto& [key, value] : object.options)
    json["config"][key] = std::visit([](const auto& alternative) { return Json(alternative); }, value);
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
  NamedObject result{.object = {.class_name = value["class_name"].get<std::string>()}, .name = {}};
  const Json options = value.value("config", Json::object());
  for (const auto& [key, option] : options.items()) {
    if (key == "name" && option.is_string()) {
      result.name = option.get<std::string>();
    } else if (!option.is_null() && key != "dtype") {
      const std::string place = fmt::format("the {} {}: {}", kind, result.object.class_name, key);
      result.object.options.emplace(key, option_value(option, place));
    }
  }
  return result;
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '_') plain.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return plain;
}

}  // namespace lockstep
