#include "lockstep/kernels/image/crop_and_flip.h"

#include <lockstep/kernels/image/image_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/finite_f32.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {

Tensor crop_and_flip(const Tensor& images, const Tensor& crops, const CropOptions& options) try {
  require_f32("crop_and_flip", crops);
  require(images.defined() && images.rank() == 4 && images.dim(1) >= 1 && images.dim(2) >= 1 &&
              (images.dtype() == DType::u8 || images.dtype() == DType::i32 || images.dtype() == DType::f32),
          "crop_and_flip takes images (n, height, width, channels), u8, i32 or f32, got {}", images);
  require(crops.shape() == (Shape{images.dim(0), 6}), "crop_and_flip takes crops (n, 6) for {}, got {}", images, crops);
  require(options.size.height >= 1 && options.size.width >= 1,
          "crop_and_flip takes a size of at least 1 x 1, got {} x {}", options.size.height, options.size.width);
  require(is_finite_f32(options.fill_value), "crop_and_flip takes a finite fill_value of f32, got {}",
          options.fill_value);
  const Tensor x = make_dense(to_current_device(images));
  const Tensor y = Tensor::empty({x.dim(0), options.size.height, options.size.width, x.dim(3)}, x.dtype());
  launch(kernels::CropAndFlip{x, make_dense(to_current_device(crops)), options, y});
  return y;
} catch (Error& error) {
  rethrow_from("crop_and_flip", error);
}

}  // namespace lockstep
