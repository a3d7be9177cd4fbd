#include "lockstep/models/files/json_text.h"

#include <array>
#include <limits>

#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

template <class Json>
Json parse(std::string_view text, const std::string& place, int most_keys) {
  constexpr int deepest = 200;          // each model nested in another takes about six levels
  std::array<int, deepest + 2> keys{};  // by depth: number of keys of the open object
  const auto check = [&](int depth, typename Json::parse_event_t event, const Json&) {
    require<InputError>(depth <= deepest, "{}: lists and objects are nested deeper than {} levels", place, deepest);
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start) keys[level + 1] = 0;
    if (event == Json::parse_event_t::key)
      require<InputError>(++keys[level] <= most_keys, "{}: an object has more than {} keys", place, most_keys);
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const nlohmann::json::exception& error) {
    fail<InputError>("{} is not JSON: {}", place, error.what());
  }
}

template <class Json>
std::string dump(const Json& value, int indent) {
  try {
    return value.dump(indent);
  } catch (const nlohmann::json::exception& error) {
    fail("a name or another text to be saved is not UTF-8: {}", error.what());
  }
}

}  // namespace

nlohmann::ordered_json parse_json(std::string_view text, const std::string& place) {
  return parse<nlohmann::ordered_json>(text, place, 1'000);
}

nlohmann::json parse_sorted_json(std::string_view text, const std::string& place) {
  return parse<nlohmann::json>(text, place, std::numeric_limits<int>::max());
}

std::string json_text(const nlohmann::ordered_json& value) { return dump(value, -1); }

std::string json_text(const nlohmann::json& value, int indent) { return dump(value, indent); }

}  // namespace lockstep
