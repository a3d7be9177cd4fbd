#pragma once

#include <cstdint>
#include <vector>

// Reductions of a batch's values to one value per row (example), for the sources of this folder.

namespace lockstep {

/// Splits the values into `rows` runs of equal length and returns the sum of each.
inline std::vector<double> sums_of_rows(const std::vector<double>& values, std::int64_t rows) {
  std::vector<double> sums(static_cast<std::size_t>(rows));
  const std::size_t width = sums.empty() ? 1 : values.size() / sums.size();
  for (std::size_t i = 0; i < sums.size() * width; ++i) sums[i / width] += values[i];
  return sums;
}

/// Splits the values into `rows` runs of equal length and returns the mean of each.
inline std::vector<double> means_of_rows(const std::vector<double>& values, std::int64_t rows) {
  std::vector<double> means = sums_of_rows(values, rows);
  for (double& mean : means) mean *= static_cast<double>(rows) / static_cast<double>(values.size());
  return means;
}

}  // namespace lockstep
