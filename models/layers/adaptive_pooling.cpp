#include "lockstep/models/layers/adaptive_pooling.h"

#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/elementwise/place_kernels.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, AdaptivePooling1DOptions& options) {
  config.only_size("output_size", options.output_size);
  config.channels_last();
}

void list(LayerConfig& config, AdaptivePooling2DOptions& options) {
  config.option("output_size", options.output_size);
  config.channels_last();
}

using Op = Tensor (*)(const Tensor&, const Pool2dOptions&);

/// Pools the rows (axis 1) or columns (axis 2) of images to `size` results. The windows have at most two sizes. For
/// each size, pools at all places with stride 1; then takes each result from the pooling with its window's size.
Tensor pool_along(Op op, const Tensor& x, int axis, std::int64_t size) {
  const std::int64_t elements = x.dim(axis);
  const std::int64_t small = (elements + size - 1) / size;
  bool has_large = false;
  for (std::int64_t i = 0; i < size && !has_large; ++i)
    has_large = ((i + 1) * elements + size - 1) / size - i * elements / size > small;
  const auto at_all_places = [&](std::int64_t window) {
    return op(x, {.window = axis == 1 ? Size2d{window, 1} : Size2d{1, window}, .strides = Size2d{1, 1}});
  };
  std::vector<Tensor> results{at_all_places(small)};
  if (has_large) results.push_back(at_all_places(small + 1));
  const Tensor places = Tensor::empty({size}, DType::i64);  // filled on the device: an upload would wait for the host
  launch(kernels::AdaptivePlaces{elements, small, places});
  return take(concat(results, axis), places, axis);
}

/// Images (n, h, w, c) -> (n, size.height, size.width, c).
Tensor adaptive_pool(Op op, const Tensor& x, Size2d size) {
  if (x.dim(1) % size.height == 0 && x.dim(2) % size.width == 0)
    return op(x, {.window = {x.dim(1) / size.height, x.dim(2) / size.width}});
  return pool_along(op, pool_along(op, x, 1, size.height), 2, size.width);
}

class AdaptivePooling1DImpl final : public LayerImpl {
 public:
  AdaptivePooling1DImpl(const char* class_name, Op op, const AdaptivePooling1DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true}), class_name_(class_name), op_(op), options_(options) {
    require(options.output_size >= 1, "{} needs an output_size of at least 1, got {}", class_name, options.output_size);
  }

  std::string_view class_name() const override { return class_name_; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& sequence = only_sequence(class_name_, inputs);
    require(sequence[0] >= 1, "{} needs sequences of at least one step, got {}", class_name_, sequence);
    return {options_.output_size, sequence[1]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return squeeze(adaptive_pool(op_, as_images(inputs[0]), {1, options_.output_size}), {1});
  }

  void describe(LayerConfig& config) const override { write_options(config, list, options_); }

 private:
  const char* class_name_;
  Op op_;
  AdaptivePooling1DOptions options_;
};

class AdaptivePooling2DImpl final : public LayerImpl {
 public:
  AdaptivePooling2DImpl(const char* class_name, Op op, const AdaptivePooling2DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true}), class_name_(class_name), op_(op), options_(options) {
    require(options.output_size.height >= 1 && options.output_size.width >= 1,
            "{} needs an output_size of at least 1, got ({}, {})", class_name, options.output_size.height,
            options.output_size.width);
  }

  std::string_view class_name() const override { return class_name_; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name_, inputs);
    require(image[0] >= 1 && image[1] >= 1, "{} needs images of at least one pixel, got {}", class_name_, image);
    return {options_.output_size.height, options_.output_size.width, image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return adaptive_pool(op_, inputs[0], options_.output_size);
  }

  void describe(LayerConfig& config) const override { write_options(config, list, options_); }

 private:
  const char* class_name_;
  Op op_;
  AdaptivePooling2DOptions options_;
};

}  // namespace

AdaptiveMaxPooling1D::AdaptiveMaxPooling1D(const AdaptivePooling1DOptions& options)
    : Layer(std::make_shared<AdaptivePooling1DImpl>("AdaptiveMaxPooling1D", max_pool2d, options)) {}

AdaptiveMaxPooling1D AdaptiveMaxPooling1D::from_config(LayerConfig& config) {
  return AdaptiveMaxPooling1D(read_options<AdaptivePooling1DOptions>(config, list));
}

AdaptiveAveragePooling1D::AdaptiveAveragePooling1D(const AdaptivePooling1DOptions& options)
    : Layer(std::make_shared<AdaptivePooling1DImpl>("AdaptiveAveragePooling1D", average_pool2d, options)) {}

AdaptiveAveragePooling1D AdaptiveAveragePooling1D::from_config(LayerConfig& config) {
  return AdaptiveAveragePooling1D(read_options<AdaptivePooling1DOptions>(config, list));
}

AdaptiveMaxPooling2D::AdaptiveMaxPooling2D(const AdaptivePooling2DOptions& options)
    : Layer(std::make_shared<AdaptivePooling2DImpl>("AdaptiveMaxPooling2D", max_pool2d, options)) {}

AdaptiveMaxPooling2D AdaptiveMaxPooling2D::from_config(LayerConfig& config) {
  return AdaptiveMaxPooling2D(read_options<AdaptivePooling2DOptions>(config, list));
}

AdaptiveAveragePooling2D::AdaptiveAveragePooling2D(const AdaptivePooling2DOptions& options)
    : Layer(std::make_shared<AdaptivePooling2DImpl>("AdaptiveAveragePooling2D", average_pool2d, options)) {}

AdaptiveAveragePooling2D AdaptiveAveragePooling2D::from_config(LayerConfig& config) {
  return AdaptiveAveragePooling2D(read_options<AdaptivePooling2DOptions>(config, list));
}

}  // namespace lockstep
