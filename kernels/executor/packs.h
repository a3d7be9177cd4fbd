#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include <lockstep/runtime/core/host_device.h>

// Functions that load or store several neighboring elements in one access, with or without conversion to f32. A
// memory-bound kernel that accesses elements one by one does not reach the memory bandwidth.

namespace lockstep::kernels {

/// Bytes of the widest access of a thread.
inline constexpr int widest_access = 16;
/// Number of elements of T in the widest access.
template <class T>
inline constexpr int pack_of = widest_access / static_cast<int>(sizeof(T));

#if defined(__CUDACC__)
/// A type of `bytes` bytes, whose values are loaded and stored in one access. nvcc would compile an aligned memcpy of
/// 16 bytes to accesses of 2 bytes.
template <int bytes>
using Word = std::conditional_t<
    bytes == 16, uint4,
    std::conditional_t<
        bytes == 8, uint2,
        std::conditional_t<bytes == 4, std::uint32_t, std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>>>;
#else
template <int bytes>
struct alignas(bytes) Word {
  unsigned char of[bytes];
};
#endif

/// Load and store n elements without conversion. Precondition: the address is aligned to n * sizeof(T) bytes, or to
/// widest_access if that is less.
template <int n, class T>
LOCKSTEP_HOST_DEVICE void load_elements(const T* from, T (&to)[n]) {
  constexpr int bytes = sizeof to < widest_access ? static_cast<int>(sizeof to) : widest_access;
  for (int word = 0; word < static_cast<int>(sizeof to) / bytes; ++word) {
#if defined(__CUDA_ARCH__)
    const Word<bytes> loaded = reinterpret_cast<const Word<bytes>*>(from)[word];
    std::memcpy(reinterpret_cast<char*>(to) + word * bytes, &loaded, bytes);
#else
    std::memcpy(reinterpret_cast<char*>(to) + word * bytes, reinterpret_cast<const char*>(from) + word * bytes, bytes);
#endif
  }
}
template <int n, class T>
LOCKSTEP_HOST_DEVICE void store_elements(const T (&from)[n], T* to) {
  constexpr int bytes = sizeof from < widest_access ? static_cast<int>(sizeof from) : widest_access;
  for (int word = 0; word < static_cast<int>(sizeof from) / bytes; ++word) {
#if defined(__CUDA_ARCH__)
    Word<bytes> stored;
    std::memcpy(&stored, reinterpret_cast<const char*>(from) + word * bytes, bytes);
    __stwb(reinterpret_cast<Word<bytes>*>(to) + word, stored);  // the compiler would split an assignment
#else
    std::memcpy(reinterpret_cast<char*>(to) + word * bytes, reinterpret_cast<const char*>(from) + word * bytes, bytes);
#endif
  }
}

/// Load and store n elements as f32. Precondition: as for load_elements.
template <int n, class T>
LOCKSTEP_HOST_DEVICE void load_pack(const T* from, float (&to)[n]) {
  T pack[n];
  load_elements(from, pack);
  for (int l = 0; l < n; ++l) to[l] = static_cast<float>(pack[l]);
}
template <int n, class T>
LOCKSTEP_HOST_DEVICE void store_pack(const float (&from)[n], T* to) {
  T pack[n];
  for (int l = 0; l < n; ++l) pack[l] = static_cast<T>(from[l]);
  store_elements(pack, to);
}

/// Whether all pointers are aligned to packs of n elements.
template <int n, class T>
bool in_packs(std::initializer_list<const T*> pointers) {
  for (const T* const pointer : pointers)
    if (reinterpret_cast<std::uintptr_t>(pointer) % (n * sizeof(T)) != 0) return false;
  return true;
}

}  // namespace lockstep::kernels
