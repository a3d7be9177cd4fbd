#pragma once

#include <filesystem>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Reads an IDX file (the format of MNIST: http://yann.lecun.com/exdb/mnist) of unsigned bytes with `rank` dimensions,
/// plain or compressed with gzip, as a u8 tensor. Throws InputError naming the file when it cannot be read, has another
/// type or rank, is shorter or longer than its header says, or has damaged compressed data.
Tensor read_idx(const std::filesystem::path& file, int rank);

}  // namespace lockstep
