#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <lockstep/models/graph/symbol.h>

// Keras' operations (keras.ops) on symbols. Each call is a layer without weights; files of whole models hold it in
// Keras' form. As in Keras, axis 0 is the batch axis; no operation may work along the batch axis.

namespace lockstep {

/// A call of a keras.ops operation, such as operation("Mean", {x}, R"({"axis": [1, 2]})"). `options`: the arguments of
/// Keras' class as a JSON object. `args`: the arguments of its call as a JSON list, where {"tensor": i} stands for
/// input i; by default all inputs in order. Throws InvalidArgument for a class that operation_names() does not list,
/// for `options` and `args` that are not JSON of this form, and for options and shapes that the operation does not
/// support; the message names an alternative.
Symbol operation(std::string_view class_name, const std::vector<Symbol>& inputs, std::string_view options = "{}",
                 std::string_view args = "");
/// Same as operation(), but returns all results of operations such as Split and Unstack.
std::vector<Symbol> operation_results(std::string_view class_name, const std::vector<Symbol>& inputs,
                                      std::string_view options = "{}", std::string_view args = "");

/// Selects the elements [begin, end) along `axis` by Keras' operation GetItem. As in Python, negative bounds count from
/// the end, and bounds beyond the axis are clamped. Throws InvalidArgument for the batch axis, 0, and for an axis out
/// of range.
Symbol slice(const Symbol& x, int axis, std::int64_t begin, std::int64_t end);

}  // namespace lockstep
