#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/strategy/input/distributed_dataset.h>

// Data sets of numbers, distributed to replicas.

namespace lockstep::test {

/// Examples x = begin, begin + 1, .. (f32), `count` of them, without y.
inline Dataset range(std::int64_t count, float begin = 0) {
  std::vector<float> x(static_cast<std::size_t>(count));
  std::iota(x.begin(), x.end(), begin);
  return Dataset::from_tensors(Tensor::from(x, {count}));
}

/// Rows of a step, by replica.
using Parts = std::vector<std::vector<float>>;
inline Parts parts_of(const DistributedBatch& batch) {
  Parts parts;
  for (const Batch& part : batch.local_results()) parts.push_back(part.x().to_vector<float>());
  return parts;
}

/// All remaining steps of a pass.
inline std::vector<Parts> steps_of(DistributedIterator& pass) {
  std::vector<Parts> steps;
  for (const DistributedBatch& batch : pass) steps.push_back(parts_of(batch));
  return steps;
}
inline std::vector<Parts> steps_of(const DistributedDataset& data, std::uint64_t epoch = 0) {
  DistributedIterator pass = data.epoch(epoch);
  return steps_of(pass);
}

}  // namespace lockstep::test
