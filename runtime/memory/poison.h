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

// Lets the address sanitizer check blocks that are cut out of larger ones: it ends the program at an access to poisoned
// host memory. In other builds these functions do nothing.

namespace lockstep::poison {

#ifdef LOCKSTEP_POISON
/// Poisoned bytes at the end of each block, so that an access beyond the block is detected.
constexpr std::size_t margin = 64;
inline void forbid(const void* memory, std::size_t bytes) { ASAN_POISON_MEMORY_REGION(memory, bytes); }
inline void permit(const void* memory, std::size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(memory, bytes); }
#else
constexpr std::size_t margin = 0;
inline void forbid(const void*, std::size_t) {}
inline void permit(const void*, std::size_t) {}
#endif

}  // namespace lockstep::poison
