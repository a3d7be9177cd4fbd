#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// timeseries_dataset_from_array's options, with Keras' names. Use batch() to make batches and shuffle() for another
/// order.
struct TimeSeriesOptions {
  std::int64_t sequence_stride = 1;         ///< distance between the first steps of two windows
  std::int64_t sampling_rate = 1;           ///< distance between two steps of a window
  std::int64_t start_index = 0;             ///< the first step that is used
  std::optional<std::int64_t> end_index{};  ///< one past the last step that is used; default: all steps
};

/// Makes windows of a time series, like Keras' function of this name. Window i begins at step p = start_index + i *
/// sequence_stride: its x (sequence_length, ...) is data[p + j * sampling_rate] for j in [0, sequence_length), and its
/// y is targets[p]. If `targets` is undefined, there is no y; otherwise windows with p beyond the targets are left out.
/// Windows with a sampling rate of 1 are views of the data. Throws InvalidArgument if data (steps, ...) or targets
/// (steps, ...) are not dense or not in host memory. Also throws it unless sequence_length, sequence_stride and
/// sampling_rate are at least 1 and 0 <= start_index <= end_index <= number of steps.
Dataset timeseries_dataset_from_array(const Tensor& data, const Tensor& targets, std::int64_t sequence_length,
                                      const TimeSeriesOptions& options = {});

}  // namespace lockstep
