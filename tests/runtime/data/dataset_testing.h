#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include <lockstep/runtime/data/dataset.h>

// Data sets of consecutive numbers, which make the order of examples visible.

namespace lockstep::test {

/// Examples x = 0, 1, .., n - 1 (f32) with y = 10 x (i32).
inline Dataset numbers(std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  std::iota(x.begin(), x.end(), 0.0F);
  std::vector<std::int32_t> y(x.begin(), x.end());
  for (std::int32_t& value : y) value *= 10;
  return Dataset::from_tensors(Tensor::from(x, {n}), Tensor::from(y, {n}));
}

/// The concatenated x of all elements of a pass.
inline std::vector<float> read(DatasetIterator pass) {
  std::vector<float> values;
  for (const Example& element : pass)
    for (const float value : element.x().to_vector<float>()) values.push_back(value);
  return values;
}
inline std::vector<float> read(const Dataset& set, std::uint64_t epoch = 0) { return read(set.epoch(epoch)); }

/// Rows of each batch of a pass.
inline std::vector<std::int64_t> batch_sizes(const Dataset& batches) {
  std::vector<std::int64_t> sizes;
  for (const Batch& batch : batches.epoch()) sizes.push_back(batch.size());
  return sizes;
}

/// The example with -x in place of a scalar x.
inline Example negated(const Example& example) {
  return example.with_x(Tensor::full(example.x().shape(), -example.x().to_vector<double>().at(0)));
}

}  // namespace lockstep::test
