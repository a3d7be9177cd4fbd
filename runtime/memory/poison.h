#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define LOCKSTEP_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKSTEP_POISON 1
#endif
#endif

#ifdef LOCKSTEP_POISON
#include <sanitizer/asan_interface.h>
#endif

// What keeps the address sanitizer's eyes open where blocks are cut out of larger ones: it ends the program at an
// access to host memory that is poisoned. Nothing in other builds.

namespace lockstep::poison {

#ifdef LOCKSTEP_POISON
/// Behind each block, so that reading on into the next one is found.
constexpr std::size_t margin = 64;
inline void forbid(const void* memory, std::size_t bytes) { ASAN_POISON_MEMORY_REGION(memory, bytes); }
inline void permit(const void* memory, std::size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(memory, bytes); }
#else
constexpr std::size_t margin = 0;
inline void forbid(const void*, std::size_t) {}
inline void permit(const void*, std::size_t) {}
#endif

}  // namespace lockstep::poison
