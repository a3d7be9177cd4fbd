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

bool has_option(const ObjectConfig& object, std::string_view name) { return object.options->contains(name); }

bool is_registered(std::string_view class_name) { return class_name.find('>') != std::string_view::npos; }

std::string registered_name(std::string_view package, std::string_view name) {
  for (const std::string_view part : {package, name})
    require(!part.empty() && !is_registered(part),
            "a class is registered under a package and a name without '>', got '{}' and '{}'", package, name);
  return fmt::format("{}>{}", package, name);
}

std::string class_name_in(const Json& object) {
  const Json registered = object.value("registered_name", Json());
  if (registered.is_string() && is_registered(registered.get<std::string>())) return registered.get<std::string>();
  return object.at("class_name").get<std::string>();
}

Json keras_object(const FileClass& file_class) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"module", text_or_null(file_class.module)},
          {"class_name", file_class.class_name},
          {"config", Json::object()},
          {"registered_name", text_or_null(file_class.registered_name)}};
}

void make_legacy(Json& object) {
  if (object["registered_name"].is_string()) object["class_name"] = object["registered_name"];
  for (const char* key : {"module", "registered_name"}) object.erase(key);
}

Json sorted_options(const ObjectConfig& object) { return nlohmann::json(*object.options); }

Json object_json(const FileClass& file_class, const Json& options, ConfigForm form) {
  Json json = keras_object(file_class);
  json["config"] = options;
  if (form == ConfigForm::legacy_h5) make_legacy(json);
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
  return {.object = {class_name_in(value), ObjectConfig::copy_of(options)}, .name = own_name};
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '_') plain.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return plain;
}

}  // namespace lockstep
