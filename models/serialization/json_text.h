#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

/// The JSON that a text from a file holds; `place` says which text, for messages. Throws InputError for text that is
/// none, or that nests lists and objects deeper than any file of a model, which what reads it by recursion could not
/// bear.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& place);

}  // namespace lockstep
