#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Move elements between the channels and the pixels of images, of any dtype. Differentiable. Throw InvalidArgument for
// undefined tensors, other ranks, a block_size that is not from 1 to 2^20 and sizes that it does not divide.

namespace lockstep {

/// (n, height, width, block_size^2 * c) -> (n, height * block_size, width * block_size, c): each pixel becomes a square
/// of pixels, row by row. PyTorch's pixel_shuffle does the same for another order of the channels.
Tensor depth_to_space(const Tensor& x, std::int64_t block_size);
/// The inverse: (n, height * block_size, width * block_size, c) -> (n, height, width, block_size^2 * c).
Tensor space_to_depth(const Tensor& x, std::int64_t block_size);

}  // namespace lockstep
