#pragma once

#include <utility>

namespace lockstep::cpu {

namespace detail {

/// In each block of (2 * distance) x (2 * distance) numbers, exchanges the upper right and the lower left quarters.
template <int distance, class Vector, int... i>
void exchange_blocks(Vector (&rows)[16], std::integer_sequence<int, i...>) {
  for (int row = 0; row < 16; ++row) {
    if ((row & distance) != 0) continue;
    Vector& upper = rows[row];
    Vector& lower = rows[row + distance];
    const Vector left = __builtin_shufflevector(upper, lower, ((i & distance) == 0 ? i : i - distance + 16)...);
    lower = __builtin_shufflevector(upper, lower, ((i & distance) == 0 ? i + distance : i + 16)...);
    upper = left;
  }
}

}  // namespace detail

/// Transposes a 16 x 16 matrix in place; rows[i] is row i. `Vector` is a vector type of the compiler (attribute
/// vector_size) with 16 elements of 32 bits.
template <class Vector>
void transpose(Vector (&rows)[16]) {
  constexpr std::make_integer_sequence<int, 16> columns;
  detail::exchange_blocks<1>(rows, columns);
  detail::exchange_blocks<2>(rows, columns);
  detail::exchange_blocks<4>(rows, columns);
  detail::exchange_blocks<8>(rows, columns);
}

}  // namespace lockstep::cpu
