#pragma once

#include <cstdint>

// Compiler vector types, for code that compilers do not vectorize by themselves.

namespace lockstep::cpu {

/// Bytes of the largest registers of the instruction sets for which the source is compiled. Vectors that are larger
/// than a register are slow: g++ keeps them in memory.
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

/// As many floats as fit into a register. Do not pass or return them by value between source files: the calling
/// convention depends on the instruction sets.
using Lanes [[gnu::vector_size(register_bytes)]] = float;
inline constexpr std::int64_t lanes = register_bytes / static_cast<int>(sizeof(float));

}  // namespace lockstep::cpu
