#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include <lockstep/runtime/core/host_device.h>

// Neighboring elements of f32 or bf16 in one access, to compute with in f32: a memory-bound kernel that reads them one
// by one leaves bandwidth unused.

namespace lockstep::grid {

/// Bytes of a thread's widest access.
inline constexpr int widest_access = 16;
/// Elements of T in one.
template <class T>
inline constexpr int pack_of = widest_access / static_cast<int>(sizeof(T));

// nvcc 13.0 makes wrong code, which it then refuses, of __builtin_assume_aligned with a pointer to anything but void.

template <int n, class T>
LOCKSTEP_HOST_DEVICE void load_pack(const T* from, float (&to)[n]) {
  const void* const place = from;
  T pack[n];
  std::memcpy(pack, __builtin_assume_aligned(place, sizeof pack), sizeof pack);
  for (int l = 0; l < n; ++l) to[l] = static_cast<float>(pack[l]);
}
template <int n, class T>
LOCKSTEP_HOST_DEVICE void store_pack(const float (&from)[n], T* to) {
  void* const place = to;
  T pack[n];
  for (int l = 0; l < n; ++l) pack[l] = static_cast<T>(from[l]);
  std::memcpy(__builtin_assume_aligned(place, sizeof pack), pack, sizeof pack);
}

/// Whether packs of n elements can be read and written there.
template <int n, class T>
bool in_packs(std::initializer_list<const T*> pointers) {
  for (const T* const pointer : pointers)
    if (reinterpret_cast<std::uintptr_t>(pointer) % (n * sizeof(T)) != 0) return false;
  return true;
}

}  // namespace lockstep::grid
