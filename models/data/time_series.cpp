#include "lockstep/models/data/time_series.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <lockstep/runtime/core/batch_axis.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/host_context.h>

namespace lockstep {
namespace {

void check_series(const Tensor& series, const char* which) {
  require(series.defined() && series.rank() >= 1 && series.is_dense() && series.device().kind == DeviceKind::cpu,
          "the {} of a time series must be dense, in host memory and have an axis of steps, got {}", which, series);
}

/// `length` steps of the series: `begin`, `begin` + rate, ...
Tensor steps_of(const Tensor& series, std::int64_t begin, std::int64_t length, std::int64_t rate) {
  if (rate == 1) return series.slice_view(0, begin, begin + length);
  Shape shape = series.shape();
  shape[0] = length;
  Tensor window = Tensor::empty(shape, series.dtype());
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t step = begin + i * rate;
    copy(series.slice_view(0, step, step + 1), window.slice_view(0, i, i + 1));
  }
  return window;
}

}  // namespace

Dataset timeseries_dataset_from_array(const Tensor& data, const Tensor& targets, std::int64_t sequence_length,
                                      const TimeSeriesOptions& options) {
  check_series(data, "data");
  if (targets.defined()) check_series(targets, "targets");
  const std::int64_t rate = options.sampling_rate;
  require(sequence_length >= 1 && options.sequence_stride >= 1 && rate >= 1,
          "sequence_length, sequence_stride and sampling_rate must be at least 1, got {}, {} and {}", sequence_length,
          options.sequence_stride, rate);
  const std::int64_t begin = options.start_index;
  const std::int64_t end = options.end_index.value_or(data.dim(0));
  require(0 <= begin && begin <= end && end <= data.dim(0),
          "start_index and end_index must lie in order in a series of {} steps, got {} and {}", data.dim(0), begin,
          end);
  std::int64_t covered = 0;
  if (__builtin_mul_overflow(sequence_length - 1, rate, &covered)) covered = end;  // too long for any window
  std::int64_t last = end - covered;  // one past the last possible first step
  if (targets.defined()) last = std::min(last, targets.dim(0));
  const std::int64_t windows = last > begin ? (last - begin - 1) / options.sequence_stride + 1 : 0;
  const ContextScope host(detail::host_context());
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < windows; ++i) starts.push_back(begin + i * options.sequence_stride);
  const Tensor positions = Tensor::from(starts, {static_cast<std::int64_t>(starts.size())});
  return Dataset::from_tensors(positions).map([=](const Example& position) {
    const auto start = position.x().item<std::int64_t>();
    Example window{{steps_of(data, start, sequence_length, rate)}};
    if (targets.defined()) window.targets = {steps_of(targets, start, 1, 1).view(without_batch_axis(targets.shape()))};
    return window;
  });
}

}  // namespace lockstep
