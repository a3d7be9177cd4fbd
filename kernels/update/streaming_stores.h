#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Non-temporal stores, which bypass the caches, for large results whose old values were not read: an ordinary store
// first reads the cache line that it overwrites. Without SSE2 these functions use ordinary stores.

namespace lockstep {

constexpr std::size_t stream_line = 64;  ///< bytes of a cache line

#if defined(__SSE2__)

namespace detail {
/// Precondition: `to` is aligned to stream_line.
inline void stream_one_line(std::byte* to, const std::byte* from) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
#else
  for (std::size_t at = 0; at < stream_line; at += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
#endif
}
}  // namespace detail

/// memcpy with non-temporal stores. Its writes are guaranteed to be visible to other threads only once the writer has
/// called finish_streaming() and synchronized with them.
inline void stream_copy(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(to) % stream_line;
  const std::size_t head = past_line == 0 ? 0 : std::min(bytes, stream_line - past_line);
  if (head > 0) std::memcpy(out, in, head);
  std::size_t at = head;
  for (; at + stream_line <= bytes; at += stream_line) detail::stream_one_line(out + at, in + at);
  if (at < bytes) std::memcpy(out + at, in + at, bytes - at);
}
/// Orders all earlier stream_copy() writes of this thread before its later stores.
inline void finish_streaming() { _mm_sfence(); }

#else

inline void stream_copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
inline void finish_streaming() {}

#endif

}  // namespace lockstep
