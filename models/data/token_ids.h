#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The values of a tensor of token ids, (n) i32 or i64. Throws InvalidArgument if `ids` has another shape or dtype, or
/// contains an id that is not in 0 .. size - 1.
std::vector<std::int64_t> token_ids(const Tensor& ids, std::int64_t size);

}  // namespace lockstep
