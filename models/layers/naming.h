#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lockstep {

/// "MaxPooling2D" -> "max_pooling2d": Keras' names of layers, and of their groups in its files, are made of this.
std::string snake_case(std::string_view class_name);

/// Gives each name once: what takes names for keys would lose all but one of the things that share a name.
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
