#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// "MaxPooling2D" -> "max_pooling2d": Keras' default names of layers and of their groups in files. GroupQueryAttention
/// becomes "grouped_query_attention", as in Keras, where it is an alias of the class GroupedQueryAttention.
std::string snake_case(std::string_view class_name);

/// At most three of `names`: those with the smallest Levenshtein distances from `name`, nearest first.
std::vector<std::string> similar_names(std::string_view name, std::vector<std::string> names);

/// Makes names unique.
class UniqueNames {
 public:
  /// Returns and reserves the name, or the first of name_1, name_2, ... that is free.
  std::string make(const std::string& name);
  /// Reserves this name. Returns false if it was reserved before.
  bool take(const std::string& name) { return given_.try_emplace(name, 0).second; }

 private:
  std::map<std::string, int> given_;  ///< reserved names, each with the last number tried as its suffix
};

}  // namespace lockstep
