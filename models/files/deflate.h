#pragma once

#include <cstdint>

namespace lockstep {

/// Maximum number of bytes that one compressed byte can expand to with deflate, the compression of gzip, zip, PNG and
/// HDF5 files (zlib's technical notes). Files that claim more are damaged or crafted to exhaust memory.
inline constexpr std::uint64_t best_ratio_of_deflate = 1032;

}  // namespace lockstep
