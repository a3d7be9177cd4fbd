#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lockstep {

/// "MaxPooling2D" -> "max_pooling2d": Keras' naming of layers, and of their groups in its files.
std::string snake_case(std::string_view class_name);

/// Makes names unique, for uses as keys.
class UniqueNames {
 public:
  /// The name, or the first of name_1, name_2, ... that has not been given.
  std::string make(const std::string& name);
  /// Gives this name. False if it has been given before.
  bool take(const std::string& name) { return given_.try_emplace(name, 0).second; }

 private:
  std::map<std::string, int> given_;  ///< by name: the last number that was tried after it
};

}  // namespace lockstep
