#pragma once

#include <cstdint>

namespace lockstep {

/// How many bytes deflate, the compression of gzip, zip, PNG and HDF5 files, can make one byte stand for; from zlib's
/// technical notes. What claims to hold more is damaged, or made to exhaust the memory.
inline constexpr std::uint64_t best_ratio_of_deflate = 1032;

}  // namespace lockstep
