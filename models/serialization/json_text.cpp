#include "lockstep/models/serialization/json_text.h"

#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

nlohmann::ordered_json parse_json(std::string_view text, const std::string& place) {
  using Json = nlohmann::ordered_json;
  constexpr int deepest = 200;  // a model in a model in a model ... takes some six each
  const auto check_depth = [&](int depth, Json::parse_event_t, const Json&) {
    require<InputError>(depth <= deepest, "{}: lists and objects lie in each other deeper than {}", place, deepest);
    return true;
  };
  try {
    return Json::parse(text, check_depth);
  } catch (const Json::exception& error) {
    fail<InputError>("{} is not JSON: {}", place, error.what());
  }
}

}  // namespace lockstep
