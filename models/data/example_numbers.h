#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/data/host_context.h>

namespace lockstep {

/// A data set of example indices, for readers that map an index to an example: the input of example i is the i64 scalar
/// i. If `y` is defined, its target is row i of `y`. With `shuffle`, each epoch has another order, but `take` and
/// `skip` select the same examples in every epoch.
inline Dataset example_numbers(std::size_t count, bool shuffle, std::uint64_t seed, const Tensor& y = {}) {
  const ContextScope host(detail::host_context());
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Dataset in_order = Dataset::from_tensors(Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())}), y);
  return shuffle ? in_order.shuffle({.seed = seed, .fixed_parts = true}) : in_order;
}

}  // namespace lockstep
