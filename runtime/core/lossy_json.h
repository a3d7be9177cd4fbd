#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace lockstep {

/// The JSON text of a value, on one line. Bytes that are not UTF-8, e.g. in file names, become U+FFFD.
inline std::string lossy_json(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace lockstep
