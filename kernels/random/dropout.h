#pragma once

#include <functional>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Sets each element to 0 with probability `rate` and scales the others by 1 / (1 - rate). Element i is decided by
/// (key, i) alone, whatever the number of threads. Throws InvalidArgument unless 0 <= rate < 1. rate 0 returns x.
Tensor dropout(const Tensor& x, float rate, const RandomKey& key);
/// The same with a key that is asked for when x is there: once, or each time that captured work is launched. Not asked
/// for at rate 0.
Tensor dropout(const Tensor& x, float rate, const std::function<RandomKey()>& next_key);

}  // namespace lockstep
