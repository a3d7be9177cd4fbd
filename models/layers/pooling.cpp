#include "lockstep/models/layers/pooling.h"

#include <type_traits>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/window/window2d.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

/// Options: Pooling2DOptions or Pooling1DOptions.
template <class Options>
void list_pooling(LayerConfig& config, Options& options) {
  list_size(config, "pool_size", options.pool_size);
  config.option("padding", options.padding);
  list_size(config, "strides", options.strides);
  config.channels_last();
}

/// Options: GlobalPooling2DOptions or GlobalPooling1DOptions.
template <class Options>
void list_global_pooling(LayerConfig& config, Options& options) {
  config.channels_last();
  config.option("keepdims", options.keepdims);
}

using Op = Tensor (*)(const Tensor&, const Pool2dOptions&);

/// Options: Pooling2DOptions or Pooling1DOptions.
template <class Options>
class PoolingImpl final : public LayerOf<Options> {
 public:
  PoolingImpl(const char* class_name, Op op, const Options& options)
      : LayerOf<Options>(class_name, options,
                         {.can_write_to = !is_1d, .can_compute_in_bf16 = true, .can_be_captured = true}),
        op_(op) {
    if (!options_.strides) options_.strides = options.pool_size;
    check_size(class_name, "a pool_size", options.pool_size);
    check_size(class_name, "strides", *options_.strides);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = is_1d ? only_sequence(class_name_, inputs) : only_image(class_name_, inputs);
    const Size2d size = slide_window(class_name_, as_images(input), for_images(options_.pool_size),
                                     for_images(*options_.strides), options_.padding)
                            .output;
    return is_1d ? Shape{size.width, input[1]} : Shape{size.height, size.width, input[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor y = op_(is_1d ? as_images(inputs[0]) : inputs[0], {.window = for_images(options_.pool_size),
                                                                    .strides = for_images(*options_.strides),
                                                                    .padding = options_.padding,
                                                                    .out = call.out});
    return is_1d ? squeeze(y, {1}) : y;
  }

 private:
  using LayerOf<Options>::class_name_;
  using LayerOf<Options>::options_;

  static constexpr bool is_1d = std::is_same_v<Options, Pooling1DOptions>;

  Op op_;
};

/// Pools with one window over the whole image or sequence, which is as fast as a reduction. Options:
/// GlobalPooling2DOptions or GlobalPooling1DOptions.
template <class Options>
class GlobalPoolingImpl final : public LayerOf<Options> {
 public:
  GlobalPoolingImpl(const char* class_name, Op op, const Options& options)
      : LayerOf<Options>(
            class_name, options,
            {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = is_1d && op == average_pool2d}),
        op_(op) {}

  Shape output_shape(std::span<const Shape> inputs) const override {
    const std::int64_t channels = only_filled(class_name_, inputs, is_1d).dim(-1);
    if (!options_.keepdims) return {channels};
    return is_1d ? Shape{1, channels} : Shape{1, 1, channels};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& x = inputs[0];
    if (const Tensor mask = call.mask(0); is_1d && mask.defined()) return masked_mean(x, expand_dims(mask, -1));
    const Tensor images = is_1d ? as_images(x) : x;
    const Tensor y = op_(images, {.window = {images.dim(1), images.dim(2)}, .strides = Size2d{1, 1}});
    if (!options_.keepdims) return reshape(y, {y.dim(0), y.dim(3)});
    return is_1d ? squeeze(y, {1}) : y;
  }

  Tensor compute_mask(std::span<const Tensor>, std::span<const Tensor>) const override { return {}; }

 private:
  using LayerOf<Options>::class_name_;
  using LayerOf<Options>::options_;

  static constexpr bool is_1d = std::is_same_v<Options, GlobalPooling1DOptions>;

  /// Computes in f32, because bf16 does not have all whole numbers above 256.
  Tensor masked_mean(const Tensor& x, const Tensor& mask) const {
    const Tensor steps = sum(cast(mask, DType::f32), {1}, options_.keepdims);
    const Tensor total = sum(cast(where(mask, x, 0), DType::f32), {1}, options_.keepdims);
    return cast(total / maximum(steps, 1), x.dtype());
  }

  Op op_;
};

}  // namespace

void Pooling2DOptions::describe(LayerConfig& config) { list_pooling(config, *this); }

void GlobalPooling2DOptions::describe(LayerConfig& config) { list_global_pooling(config, *this); }

void Pooling1DOptions::describe(LayerConfig& config) { list_pooling(config, *this); }

void GlobalPooling1DOptions::describe(LayerConfig& config) { list_global_pooling(config, *this); }

MaxPooling2D::MaxPooling2D(const Pooling2DOptions& options)
    : Layer(std::make_shared<PoolingImpl<Pooling2DOptions>>("MaxPooling2D", max_pool2d, options)) {}

AveragePooling2D::AveragePooling2D(const Pooling2DOptions& options)
    : Layer(std::make_shared<PoolingImpl<Pooling2DOptions>>("AveragePooling2D", average_pool2d, options)) {}

GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalPooling2DOptions& options)
    : Layer(std::make_shared<GlobalPoolingImpl<GlobalPooling2DOptions>>("GlobalMaxPooling2D", max_pool2d, options)) {}

GlobalAveragePooling2D::GlobalAveragePooling2D(const GlobalPooling2DOptions& options)
    : Layer(std::make_shared<GlobalPoolingImpl<GlobalPooling2DOptions>>("GlobalAveragePooling2D", average_pool2d,
                                                                        options)) {}

MaxPooling1D::MaxPooling1D(const Pooling1DOptions& options)
    : Layer(std::make_shared<PoolingImpl<Pooling1DOptions>>("MaxPooling1D", max_pool2d, options)) {}

AveragePooling1D::AveragePooling1D(const Pooling1DOptions& options)
    : Layer(std::make_shared<PoolingImpl<Pooling1DOptions>>("AveragePooling1D", average_pool2d, options)) {}

GlobalMaxPooling1D::GlobalMaxPooling1D(const GlobalPooling1DOptions& options)
    : Layer(std::make_shared<GlobalPoolingImpl<GlobalPooling1DOptions>>("GlobalMaxPooling1D", max_pool2d, options)) {}

GlobalAveragePooling1D::GlobalAveragePooling1D(const GlobalPooling1DOptions& options)
    : Layer(std::make_shared<GlobalPoolingImpl<GlobalPooling1DOptions>>("GlobalAveragePooling1D", average_pool2d,
                                                                        options)) {}

}  // namespace lockstep
