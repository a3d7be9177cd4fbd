#pragma once

#include <span>
#include <vector>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/update/update_kernels.h>

#include "parity.h"

// Checks of the kernel Update, for tests of the rules of optimizers.

namespace lockstep::test {

/// Pointers to the first elements of the tensors.
template <class T, class Pointer>
std::vector<Pointer> pointers(const Results& tensors) {
  std::vector<Pointer> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.data<T>());
  return result;
}

/// One tensor for each replica, in [0.9, 1.1) for real numbers, in [-100, 100) for integers.
inline Results of_replicas(std::size_t count, std::int64_t n, DType dtype, unsigned seed) {
  const bool whole = dtype == DType::i32 || dtype == DType::i64;
  Results result;
  for (std::size_t r = 0; r < count; ++r) {
    const Tensor values = whole ? random_tensor({n}, seed + static_cast<unsigned>(r), -100, 100)
                                : random_tensor({n}, seed + static_cast<unsigned>(r), 0.9, 1.1);
    result.push_back(Tensor::empty({n}, dtype));
    kernels::run_on_cpu(kernels::Convert{values, result.back()});
  }
  return result;
}

/// Compares both sources of a step that updates all but the first `skipped` of 37 elements.
inline void check_update(const OptimizerStep& step, std::size_t replicas, std::int64_t skipped) {
  SCOPED_TRACE(fmt::format("{} replicas from element {}", replicas, skipped));
  const std::int64_t n = 37;
  const Results gradients = of_replicas(replicas, n, DType::f32, 1);
  Results before(replicas, random_tensor({n}, 500));
  // State as earlier steps would have left it: second moments are larger than the squared first moments.
  for (int slot = 0; slot < state_slots(step); ++slot) before.push_back(random_tensor({n}, 600U + slot, 0.1, 0.2));
  expect_same(before, [&](const Runner& run, const Results& out) {
    auto in = pointers<float, const float*>(gradients);
    auto all = pointers<float, float*>(out);
    for (const float*& pointer : in) pointer += skipped;
    for (float*& pointer : all) pointer += skipped;
    const std::span<float* const> memory(all);
    run(kernels::Update{step, UpdateViews{.gradients = in,
                                          .parameters = memory.first(replicas),
                                          .state = memory.subspan(replicas),
                                          .count = n - skipped}});
  });
}

}  // namespace lockstep::test
