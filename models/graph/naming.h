#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// "MaxPooling2D" -> "max_pooling2d": Keras' names of layers, and of their groups in its files, are made of this.
std::string snake_case(std::string_view class_name);

}  // namespace lockstep
