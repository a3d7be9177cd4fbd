#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// A data set whose example i has x = i, i64, and row i of `y`, if given: for readers that map numbers to examples.
/// With `shuffle`, each epoch has another order, and `take` and `skip` split all orders into the same parts.
inline Dataset example_numbers(std::size_t count, bool shuffle, std::uint64_t seed, const Tensor& y = {}) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Dataset in_order = Dataset::from_tensors(Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())}), y);
  return shuffle ? in_order.shuffle({.seed = seed, .fixed_parts = true}) : in_order;
}

}  // namespace lockstep
