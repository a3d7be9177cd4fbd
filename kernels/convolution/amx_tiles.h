#pragma once

#include <cstdint>

#include <lockstep/runtime/core/bfloat16.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Matrix products on Intel's tile registers (AMX; Intel 64 and IA-32 Architectures Software Developer's Manual, volume
// 1, chapter 18): a tile has 16 rows of 64 bytes, and one instruction adds the product of a tile of 16x32 numbers of
// bf16 and one of 32x16 to a tile of 16x16 sums of f32.

namespace lockstep::amx {

/// Rows of a tile, and columns of one of sums.
inline constexpr std::int64_t tile = 16;
/// Terms of a sum that one instruction adds.
inline constexpr std::int64_t depth = 32;

/// What is multiplied, and where the sums are: a row or two of tiles by a column or two.
struct Product {
  const bfloat16* left;       ///< a row's numbers lie side by side
  std::int64_t left_stride;   ///< from one row to the next
  const bfloat16* right;      ///< what two successive rows have in 16 columns, pair by pair, and so on
  std::int64_t right_stride;  ///< from 16 columns to the next 16
  std::int64_t terms;         ///< of each sum; a multiple of `depth`
  float* sums;                ///< plain
  std::int64_t sums_stride;   ///< from one row to the next
};

#if defined(__x86_64__)

/// Has the calling thread's tile registers hold tiles of full size, and gives them back to the system.
class TileScope {
 public:
  [[gnu::target("amx-tile")]] TileScope() {
    Configuration full{.palette = 1};
    for (std::uint8_t& rows : full.rows) rows = tile;
    for (std::uint16_t& bytes : full.bytes_of_row) bytes = 64;
    asm volatile("" ::"r"(&full) : "memory");  // GCC thinks that the first 8 bytes of it are read
    _tile_loadconfig(&full);
  }
  [[gnu::target("amx-tile")]] ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  /// As the manual has it; only eight tiles exist.
  struct alignas(64) Configuration {
    std::uint8_t palette = 0, start_row = 0, reserved[14]{};
    std::uint16_t bytes_of_row[8]{}, none[8]{};
    std::uint8_t rows[8]{}, no_rows[8]{};
  };
};

/// Adds the product of `rows` tiles of left and `columns` of right, one or two, to the sums, in a TileScope.
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

/// Processors without tile registers never come here (onednn::has_tiles()).
class TileScope {};
template <int rows, int columns>
void add_product(const Product&) {}

#endif

}  // namespace lockstep::amx
