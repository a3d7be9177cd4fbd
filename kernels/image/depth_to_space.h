#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Move elements between the channels and the pixels of images, of any dtype. Differentiable. Throw InvalidArgument if x
// is undefined or not of rank 4, and if block_size is not in [1, 2^20].

namespace lockstep {

/// (n, height, width, block_size^2 * c) -> (n, height * block_size, width * block_size, c): each pixel becomes a square
/// of pixels, filled row by row. PyTorch's pixel_shuffle does the same for another order of the channels. Throws
/// InvalidArgument unless block_size^2 divides the number of channels.
Tensor depth_to_space(const Tensor& x, std::int64_t block_size);
/// The inverse: (n, height * block_size, width * block_size, c) -> (n, height, width, block_size^2 * c). Throws
/// InvalidArgument unless block_size divides the height and the width.
Tensor space_to_depth(const Tensor& x, std::int64_t block_size);

}  // namespace lockstep
