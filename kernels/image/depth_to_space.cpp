#include "lockstep/kernels/image/depth_to_space.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {
namespace {

void check_images(const char* op, const Tensor& x, std::int64_t block_size) {
  require(x.defined() && x.rank() == 4, "{} takes images (n, height, width, channels), got {}", op, x);
  require(block_size >= 1 && block_size <= 1 << 20, "{} takes a block_size from 1 to 2^20, got {}", op, block_size);
}

}  // namespace

Tensor depth_to_space(const Tensor& x, std::int64_t block_size) try {
  check_images("depth_to_space", x, block_size);
  const std::int64_t b = block_size;
  require(x.dim(3) % (b * b) == 0, "depth_to_space of {}: {} channels cannot be divided among {} pixels", x, x.dim(3),
          b * b);
  const Tensor blocks = reshape(to_current_device(x), {x.dim(0), x.dim(1), x.dim(2), b, b, x.dim(3) / (b * b)});
  return reshape(transpose(blocks, {0, 1, 3, 2, 4, 5}), {x.dim(0), x.dim(1) * b, x.dim(2) * b, x.dim(3) / (b * b)});
} catch (Error& error) {
  rethrow_from("depth_to_space", error);
}

Tensor space_to_depth(const Tensor& x, std::int64_t block_size) try {
  check_images("space_to_depth", x, block_size);
  const std::int64_t b = block_size;
  require(x.dim(1) % b == 0 && x.dim(2) % b == 0, "space_to_depth of {}: its height and width are not multiples of {}",
          x, b);
  const Tensor blocks = reshape(to_current_device(x), {x.dim(0), x.dim(1) / b, b, x.dim(2) / b, b, x.dim(3)});
  return reshape(transpose(blocks, {0, 1, 3, 2, 4, 5}), {x.dim(0), x.dim(1) / b, x.dim(2) / b, b * b * x.dim(3)});
} catch (Error& error) {
  rethrow_from("space_to_depth", error);
}

}  // namespace lockstep
