#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

/// Parses JSON text from a file; `place` names the text in messages. Throws InputError for text that is not JSON, for a
/// value or a key inside more than 200 nested lists and objects (recursive readers would overflow the stack), and for
/// an object with more than 1,000 keys (ordered_json compares each key with all others). Configurations of models stay
/// far below both limits.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& place);
/// Like parse_json, but objects are sorted by key and may have any number of keys.
nlohmann::json parse_sorted_json(std::string_view text, const std::string& place);

///@{
/// The text of a value, with line breaks if `indent` is not negative. Throws InvalidArgument for a string that is not
/// UTF-8, such as a layer's name in Latin-1.
std::string json_text(const nlohmann::ordered_json& value);
std::string json_text(const nlohmann::json& value, int indent = -1);
///@}

}  // namespace lockstep
