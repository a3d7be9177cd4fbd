#pragma once

#include <cstdint>

#include <lockstep/runtime/core/bfloat16.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Matrix products on Intel's tile registers (AMX; Intel 64 and IA-32 Architectures Software Developer's Manual, volume
// 1, chapter 18). A tile has 16 rows of 64 bytes; one instruction multiplies a 16x32 tile of bf16 by a 32x16 tile of
// bf16 and adds the product to a 16x16 tile of f32.

namespace lockstep::amx {

/// Number of rows of a tile, and number of columns of a tile of sums.
inline constexpr std::int64_t tile = 16;
/// Number of terms that one instruction adds to each sum.
inline constexpr std::int64_t depth = 32;

/// Operands and sums of a matrix product: one or two rows of tiles by one or two columns of tiles. Strides are in
/// elements.
struct Product {
  const bfloat16* left;       ///< row-major
  std::int64_t left_stride;   ///< from one row to the next
  const bfloat16* right;      ///< blocks of 16 columns; in a block, each pair of rows is interleaved element by element
  std::int64_t right_stride;  ///< from one block of 16 columns to the next
  std::int64_t terms;         ///< number of terms of each sum; a multiple of `depth`
  float* sums;                ///< row-major
  std::int64_t sums_stride;   ///< from one row to the next
};

#if defined(__x86_64__)

/// Configures the calling thread's tile registers for full-size tiles; releases them at the end of the scope.
class TileScope {
 public:
  [[gnu::target("amx-tile")]] TileScope() {
    Configuration full{.palette = 1};
    for (std::uint8_t& rows : full.rows) rows = tile;
    for (std::uint16_t& bytes : full.bytes_of_row) bytes = 64;
    asm volatile("" ::"r"(&full) : "memory");  // GCC assumes that _tile_loadconfig reads only 8 bytes
    _tile_loadconfig(&full);
  }
  [[gnu::target("amx-tile")]] ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  /// The configuration in the manual's layout, which reserves room for 16 tiles; only eight exist.
  struct alignas(64) Configuration {
    std::uint8_t palette = 0, start_row = 0, reserved[14]{};
    std::uint16_t bytes_of_row[8]{}, none[8]{};
    std::uint8_t rows[8]{}, no_rows[8]{};
  };
};

/// Adds the product of `rows` rows and `columns` columns of tiles to the sums; both numbers must be 1 or 2.
/// Precondition: inside a TileScope.
template <int rows, int columns>
[[gnu::target("amx-tile,amx-bf16")]] void add_product(const Product& p) {
  asm volatile("" ::: "memory");  // GCC does not know that loading a tile reads memory
  const auto bytes = [](std::int64_t numbers, std::size_t size) { return numbers * static_cast<std::int64_t>(size); };
  const std::int64_t left_bytes = bytes(p.left_stride, sizeof(bfloat16));
  const std::int64_t right_bytes = bytes(2 * tile, sizeof(bfloat16));
  const std::int64_t sums_bytes = bytes(p.sums_stride, sizeof(float));
  float* const lower = p.sums + tile * p.sums_stride;
  _tile_loadd(0, p.sums, sums_bytes);
  if constexpr (columns == 2) _tile_loadd(1, p.sums + tile, sums_bytes);
  if constexpr (rows == 2) _tile_loadd(2, lower, sums_bytes);
  if constexpr (rows == 2 && columns == 2) _tile_loadd(3, lower + tile, sums_bytes);
  for (std::int64_t term = 0; term < p.terms; term += depth) {
    const bfloat16* const left = p.left + term;
    const bfloat16* const right = p.right + term * tile;
    _tile_loadd(4, left, left_bytes);
    _tile_loadd(6, right, right_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (columns == 2) {
      _tile_loadd(7, right + p.right_stride, right_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (rows == 2) {
      _tile_loadd(5, left + tile * p.left_stride, left_bytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (rows == 2 && columns == 2) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, p.sums, sums_bytes);
  if constexpr (columns == 2) _tile_stored(1, p.sums + tile, sums_bytes);
  if constexpr (rows == 2) _tile_stored(2, lower, sums_bytes);
  if constexpr (rows == 2 && columns == 2) _tile_stored(3, lower + tile, sums_bytes);
}

#else

/// Stubs, never called because only x86-64 processors have tile registers (onednn::has_tiles()).
class TileScope {};
template <int rows, int columns>
void add_product(const Product&) {}

#endif

}  // namespace lockstep::amx
