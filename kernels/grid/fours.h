#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include <lockstep/runtime/core/host_device.h>

// Four neighboring f32 in one access: a memory-bound kernel that reads them one by one leaves bandwidth unused.

namespace lockstep::grid {

// nvcc 13.0 makes wrong code, which it then refuses, of __builtin_assume_aligned with a pointer to anything but void.

LOCKSTEP_HOST_DEVICE inline void load_four(const float* from, float (&to)[4]) {
  const void* const place = from;
  std::memcpy(to, __builtin_assume_aligned(place, sizeof to), sizeof to);
}
LOCKSTEP_HOST_DEVICE inline void store_four(const float (&from)[4], float* to) {
  void* const place = to;
  std::memcpy(__builtin_assume_aligned(place, sizeof from), from, sizeof from);
}

/// Whether all of them can be read and written so.
inline bool in_fours(std::initializer_list<const float*> pointers) {
  for (const float* const pointer : pointers)
    if (reinterpret_cast<std::uintptr_t>(pointer) % (4 * sizeof(float)) != 0) return false;
  return true;
}

}  // namespace lockstep::grid
