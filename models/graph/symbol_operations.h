#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <lockstep/models/graph/symbol.h>

// Keras' operations (keras.ops) on symbols. Each call is a layer without weights, which whole-model files hold as Keras
// records it. Axes count the batch axis, as in Keras; no operation may work along it.

namespace lockstep {

/// A call of a keras.ops operation: operation("Mean", {x}, R"({"axis": [1, 2]})"). `options`: the other arguments of
/// Keras' class as a JSON object; `args`: the arguments of its call as a JSON list in which {"tensor": i} stands for
/// input i, by default all inputs. Throws InvalidArgument for an operation that operation.h does not list, and for
/// options and shapes that it does not take; the message names an alternative.
Symbol operation(std::string_view class_name, const std::vector<Symbol>& inputs, std::string_view options = "{}",
                 std::string_view args = "");
/// Same as operation(), but returns all results, e.g. of Split and Unstack.
std::vector<Symbol> operation_results(std::string_view class_name, const std::vector<Symbol>& inputs,
                                      std::string_view options = "{}", std::string_view args = "");

/// Selects the elements [begin, end) along `axis`. Axis 0 is the batch axis, which is not allowed; negative bounds
/// count from the end, as in Python. The operation is Keras' GetItem.
Symbol slice(const Symbol& x, int axis, std::int64_t begin, std::int64_t end);

}  // namespace lockstep
