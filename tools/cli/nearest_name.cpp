#include "nearest_name.h"

#include <algorithm>

#include <fmt/core.h>

namespace lockstep::cli {
namespace {

/// The number of letters to insert, delete, replace or exchange with their neighbors.
std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      edits[i][j] = std::min({replaced, edits[i - 1][j] + 1, edits[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  return edits.back().back();
}

/// The first letters of the words: "learning-rate" becomes "lr".
std::string initials_of(const std::string& name) {
  std::string initials;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (i == 0 || name[i - 1] == '-') initials += name[i];
  return initials;
}

}  // namespace

std::string suggestion(const std::string& given, const std::vector<std::string>& names, const std::string& prefix) {
  if (given.empty()) return "";
  std::string nearest;
  std::size_t least = 3;
  for (const std::string& name : names) {
    const bool is_short_for = initials_of(name) == given || name.starts_with(given) ||
                              (given.size() > 3 && name.find(given) != std::string::npos);
    const std::size_t edits = is_short_for ? 0 : edits_between(given, name);
    if (edits >= least) continue;
    least = edits;
    nearest = name;
  }
  return nearest.empty() ? "" : fmt::format("; did you mean {}{}?", prefix, nearest);
}

}  // namespace lockstep::cli
