#include "nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/core.h>

namespace lockstep::cli {
namespace {

/// Levenshtein distance: the number of letters to insert, delete or replace.
std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchanged = before + (a[i - 1] == b[j - 1] ? 0 : 1);
      before = row[j];
      row[j] = std::min({exchanged, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
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
