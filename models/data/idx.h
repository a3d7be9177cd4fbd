#pragma once

#include <filesystem>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Reads an IDX file (the format of MNIST: http://yann.lecun.com/exdb/mnist) of unsigned bytes with `rank` dimensions,
/// plain or compressed with gzip, as a u8 tensor. Throws InputError, which names the file, when it cannot be read, is
/// of another type or rank, or is shorter or longer than its header says, and when its compressed data are damaged.
Tensor read_idx(const std::filesystem::path& file, int rank);

}  // namespace lockstep
