#include "lockstep/models/layers/naming.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include <fmt/core.h>

namespace lockstep {

std::string snake_case(std::string_view class_name) {
  if (class_name == "GroupQueryAttention") return "grouped_query_attention";
  const auto lower = [&](std::size_t i) {
    return i < class_name.size() && std::islower(static_cast<unsigned char>(class_name[i])) != 0;
  };
  std::string result;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const auto letter = static_cast<unsigned char>(class_name[i]);
    if (i > 0 && std::isupper(letter) != 0 && (lower(i + 1) || lower(i - 1))) result += '_';
    result += static_cast<char>(std::tolower(letter));
  }
  return result;
}

std::vector<std::string> similar_names(std::string_view name, std::vector<std::string> names) {
  const auto distance = [&](const std::string& other) {  // Levenshtein's, row by row
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::size_t replaced = std::exchange(row[0], i + 1);
      for (std::size_t j = 0; j < other.size(); ++j) {
        const std::size_t cost = replaced + (name[i] == other[j] ? 0 : 1);
        replaced = row[j + 1];
        row[j + 1] = std::min({cost, replaced + 1, row[j] + 1});
      }
    }
    return row.back();
  };
  std::ranges::stable_sort(names, {}, distance);
  names.resize(std::min(names.size(), std::size_t{3}));
  return names;
}

std::string UniqueNames::make(const std::string& name) {
  const auto [given, is_free] = given_.try_emplace(name, 0);
  if (is_free) return name;
  while (true) {
    std::string numbered = fmt::format("{}_{}", name, ++given->second);
    if (take(numbered)) return numbered;
  }
}

}  // namespace lockstep
