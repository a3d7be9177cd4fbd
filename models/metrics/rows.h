#pragma once

#include <cstdint>
#include <vector>

// For the sources of this folder: values of a batch as rows, one for each example.

namespace lockstep {

/// The sum of each of `rows` equally long runs of the values.
inline std::vector<double> sums_of_rows(const std::vector<double>& values, std::int64_t rows) {
  std::vector<double> sums(static_cast<std::size_t>(rows));
  const std::size_t width = sums.empty() ? 1 : values.size() / sums.size();
  for (std::size_t i = 0; i < sums.size() * width; ++i) sums[i / width] += values[i];
  return sums;
}

/// The mean of each of `rows` equally long runs of the values.
inline std::vector<double> means_of_rows(const std::vector<double>& values, std::int64_t rows) {
  std::vector<double> means = sums_of_rows(values, rows);
  for (double& mean : means) mean *= static_cast<double>(rows) / static_cast<double>(values.size());
  return means;
}

}  // namespace lockstep
