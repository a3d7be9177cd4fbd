#include "lockstep/models/layers/resizing.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

class ResizingImpl final : public LayerOf<ResizingOptions> {
 public:
  explicit ResizingImpl(const ResizingOptions& options)
      : LayerOf("Resizing", options, {.can_compute_in_bf16 = true, .can_be_captured = true, .may_return_input = true}) {
    require(options.height >= 1 && options.width >= 1, "Resizing needs a height and a width of at least 1, got {} x {}",
            options.height, options.width);
    require(!options.crop_to_aspect_ratio || !options.pad_to_aspect_ratio,
            "Resizing takes one of crop_to_aspect_ratio and pad_to_aspect_ratio, got both");
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name(), inputs);
    require(image[0] >= 1 && image[1] >= 1, "Resizing takes images with pixels, got {}", image);
    return {options_.height, options_.width, image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return resize(inputs[0], {options_.height, options_.width},
                  {.interpolation = options_.interpolation,
                   .antialias = options_.antialias,
                   .crop_to_aspect_ratio = options_.crop_to_aspect_ratio,
                   .pad_to_aspect_ratio = options_.pad_to_aspect_ratio,
                   .fill_value = options_.fill_value});
  }
};

class CenterCropImpl final : public LayerOf<CenterCropOptions> {
 public:
  explicit CenterCropImpl(const CenterCropOptions& options)
      : LayerOf("CenterCrop", options,
                {.can_compute_in_bf16 = true, .can_be_captured = true, .may_return_input = true}) {
    require(options.height >= 1 && options.width >= 1,
            "CenterCrop needs a height and a width of at least 1, got {} x {}", options.height, options.width);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name(), inputs);
    require(image[0] >= 1 && image[1] >= 1, "CenterCrop takes images with pixels, got {}", image);
    return {options_.height, options_.width, image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& x = inputs[0];
    if (x.dim(1) < options_.height || x.dim(2) < options_.width)
      return resize(x, {options_.height, options_.width}, {.crop_to_aspect_ratio = true});
    return middle(middle(x, 1, options_.height), 2, options_.width);
  }

 private:
  /// The middle `size` elements along the axis.
  static Tensor middle(const Tensor& x, int axis, std::int64_t size) {
    const std::int64_t begin = (x.dim(axis) - size) / 2;
    return slice(x, axis, begin, begin + size);
  }
};

}  // namespace

void ResizingOptions::describe(LayerConfig& config) {
  config.option("height", height);
  config.option("width", width);
  config.option("interpolation", interpolation);
  config.option("crop_to_aspect_ratio", crop_to_aspect_ratio);
  config.option("pad_to_aspect_ratio", pad_to_aspect_ratio);
  config.fixed("fill_mode", "constant");
  config.option("fill_value", fill_value);
  config.option("antialias", antialias);
  config.channels_last();
}

void CenterCropOptions::describe(LayerConfig& config) {
  config.option("height", height);
  config.option("width", width);
  config.channels_last();
}

Resizing::Resizing(const ResizingOptions& options) : Layer(std::make_shared<ResizingImpl>(options)) {}

CenterCrop::CenterCrop(const CenterCropOptions& options) : Layer(std::make_shared<CenterCropImpl>(options)) {}

}  // namespace lockstep
