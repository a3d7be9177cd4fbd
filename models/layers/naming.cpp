#include "lockstep/models/layers/naming.h"

#include <cctype>

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

std::string UniqueNames::make(const std::string& name) {
  const auto [given, is_free] = given_.try_emplace(name, 0);
  if (is_free) return name;
  while (true) {
    std::string numbered = fmt::format("{}_{}", name, ++given->second);
    if (take(numbered)) return numbered;
  }
}

}  // namespace lockstep
