#include "lockstep/runtime/tensor/may_share_memory.h"

#include <cstddef>
#include <cstdint>

namespace lockstep {
namespace {

/// Bytes from the first element, of which there is one, to the end of the last one.
std::size_t extent_of(const Tensor& x) {
  std::int64_t extent = 1;
  for (int axis = 0; axis < x.rank(); ++axis) extent += (x.shape()[axis] - 1) * x.strides()[axis];
  return static_cast<std::size_t>(extent) * size_of(x.dtype());
}

}  // namespace

bool may_share_memory(const Tensor& a, const Tensor& b) {
  if (a.elements() == 0 || b.elements() == 0) return false;
  const auto begin_a = reinterpret_cast<std::uintptr_t>(a.raw_data());
  const auto begin_b = reinterpret_cast<std::uintptr_t>(b.raw_data());
  return begin_a < begin_b + extent_of(b) && begin_b < begin_a + extent_of(a);
}

}  // namespace lockstep
