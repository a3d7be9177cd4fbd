#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

/// The JSON that a text from a file holds; `place` says which text, for messages. Throws InputError for text that is
/// not JSON, or that nests lists and objects deeper than any file of a model, which what reads it by recursion could
/// not bear; and for an object of more keys than any of a model's configuration, which ordered_json compares each with
/// all.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& place);
/// The same, of any number of keys, by which it is sorted.
nlohmann::json parse_sorted_json(std::string_view text, const std::string& place);

}  // namespace lockstep
