#include "lockstep/models/layers/pooling.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/window/window2d.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, Pooling2DOptions& options) {
  config.option("pool_size", options.pool_size);
  config.option("padding", options.padding);
  config.option("strides", options.strides);
  config.channels_last();
}

void list(LayerConfig& config, GlobalPooling2DOptions& options) {
  config.channels_last();
  config.option("keepdims", options.keepdims);
}

void list(LayerConfig& config, Pooling1DOptions& options) {
  config.only_size("pool_size", options.pool_size);
  config.option("padding", options.padding);
  config.only_size("strides", options.strides);
  config.channels_last();
}

void list(LayerConfig& config, GlobalPooling1DOptions& options) {
  config.channels_last();
  config.option("keepdims", options.keepdims);
}

using Op = Tensor (*)(const Tensor&, const Pool2dOptions&);

class Pooling2DImpl final : public LayerImpl {
 public:
  Pooling2DImpl(const char* class_name, Op op, const Pooling2DOptions& options)
      : LayerImpl(options.name, {.can_write_to = true, .can_compute_in_bf16 = true, .can_be_captured = true}),
        class_name_(class_name),
        op_(op),
        size_(options.pool_size),
        strides_(options.strides.value_or(options.pool_size)),
        padding_(options.padding) {
    require(size_.height >= 1 && size_.width >= 1, "{} needs a pool_size of at least 1, got ({}, {})", class_name,
            size_.height, size_.width);
    require(strides_.height >= 1 && strides_.width >= 1, "{} needs strides of at least 1, got ({}, {})", class_name,
            strides_.height, strides_.width);
  }

  std::string_view class_name() const override { return class_name_; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name_, inputs);
    const Size2d size = slide_window(class_name_, with_batch_axis(image), size_, strides_, padding_).output;
    return {size.height, size.width, image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return op_(inputs[0], {.window = size_, .strides = strides_, .padding = padding_, .out = call.out});
  }

  void describe(LayerConfig& config) const override {
    write_options(config, list, Pooling2DOptions{.pool_size = size_, .strides = strides_, .padding = padding_});
  }

 private:
  const char* class_name_;
  Op op_;
  Size2d size_;
  Size2d strides_;
  Padding padding_;
};

/// Pools with one window over the whole image, which is as fast as a reduction.
class GlobalPooling2DImpl final : public LayerImpl {
 public:
  GlobalPooling2DImpl(const char* class_name, Op op, const GlobalPooling2DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true}),
        class_name_(class_name),
        op_(op),
        keepdims_(options.keepdims) {}

  std::string_view class_name() const override { return class_name_; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name_, inputs);
    require(image[0] >= 1 && image[1] >= 1, "{} needs images of at least one pixel, got {}", class_name_, image);
    return keepdims_ ? Shape{1, 1, image[2]} : Shape{image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& x = inputs[0];
    const Tensor y = op_(x, {.window = {x.dim(1), x.dim(2)}, .strides = Size2d{1, 1}});
    return keepdims_ ? y : reshape(y, {x.dim(0), x.dim(3)});
  }
  void describe(LayerConfig& config) const override {
    write_options(config, list, GlobalPooling2DOptions{.keepdims = keepdims_});
  }

 private:
  const char* class_name_;
  Op op_;
  bool keepdims_;
};

class Pooling1DImpl final : public LayerImpl {
 public:
  Pooling1DImpl(const char* class_name, Op op, const Pooling1DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true}),
        class_name_(class_name),
        op_(op),
        size_(options.pool_size),
        strides_(options.strides.value_or(options.pool_size)),
        padding_(options.padding) {
    require(size_ >= 1, "{} needs a pool_size of at least 1, got {}", class_name, size_);
    require(strides_ >= 1, "{} needs strides of at least 1, got {}", class_name, strides_);
  }

  std::string_view class_name() const override { return class_name_; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& sequence = only_sequence(class_name_, inputs);
    const Shape row{1, 1, sequence[0], sequence[1]};
    const Size2d size = slide_window(class_name_, row, {1, size_}, {1, strides_}, padding_).output;
    return {size.width, sequence[1]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return squeeze(
        op_(as_images(inputs[0]), {.window = {1, size_}, .strides = Size2d{1, strides_}, .padding = padding_}), {1});
  }

  void describe(LayerConfig& config) const override {
    write_options(config, list, Pooling1DOptions{.pool_size = size_, .strides = strides_, .padding = padding_});
  }

 private:
  const char* class_name_;
  Op op_;
  std::int64_t size_;
  std::int64_t strides_;
  Padding padding_;
};

/// Pools with one window over the whole sequence.
class GlobalPooling1DImpl final : public LayerImpl {
 public:
  GlobalPooling1DImpl(const char* class_name, Op op, const GlobalPooling1DOptions& options)
      : LayerImpl(options.name,
                  {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = op == average_pool2d}),
        class_name_(class_name),
        op_(op),
        keepdims_(options.keepdims) {}

  std::string_view class_name() const override { return class_name_; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& sequence = only_sequence(class_name_, inputs);
    require(sequence[0] >= 1, "{} needs sequences of at least one step, got {}", class_name_, sequence);
    return keepdims_ ? Shape{1, sequence[1]} : Shape{sequence[1]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& x = inputs[0];
    if (const Tensor mask = call.mask(0); mask.defined()) return masked_mean(x, expand_dims(mask, -1));
    const Tensor y = squeeze(op_(as_images(x), {.window = {1, x.dim(1)}, .strides = Size2d{1, 1}}), {1});
    return keepdims_ ? y : squeeze(y, {1});
  }

  Tensor compute_mask(std::span<const Tensor>, std::span<const Tensor>) const override { return {}; }

  void describe(LayerConfig& config) const override {
    write_options(config, list, GlobalPooling1DOptions{.keepdims = keepdims_});
  }

 private:
  Tensor masked_mean(const Tensor& x, const Tensor& mask) const {
    const Tensor steps = sum(cast(mask, x.dtype()), {1}, keepdims_);
    return sum(where(mask, x, 0), {1}, keepdims_) / maximum(steps, 1);
  }

  const char* class_name_;
  Op op_;
  bool keepdims_;
};

}  // namespace

MaxPooling2D::MaxPooling2D(const Pooling2DOptions& options)
    : Layer(std::make_shared<Pooling2DImpl>("MaxPooling2D", max_pool2d, options)) {}

MaxPooling2D MaxPooling2D::from_config(LayerConfig& config) {
  return MaxPooling2D(read_options<Pooling2DOptions>(config, list));
}

AveragePooling2D::AveragePooling2D(const Pooling2DOptions& options)
    : Layer(std::make_shared<Pooling2DImpl>("AveragePooling2D", average_pool2d, options)) {}

AveragePooling2D AveragePooling2D::from_config(LayerConfig& config) {
  return AveragePooling2D(read_options<Pooling2DOptions>(config, list));
}

GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalPooling2DOptions& options)
    : Layer(std::make_shared<GlobalPooling2DImpl>("GlobalMaxPooling2D", max_pool2d, options)) {}

GlobalMaxPooling2D GlobalMaxPooling2D::from_config(LayerConfig& config) {
  return GlobalMaxPooling2D(read_options<GlobalPooling2DOptions>(config, list));
}

GlobalAveragePooling2D::GlobalAveragePooling2D(const GlobalPooling2DOptions& options)
    : Layer(std::make_shared<GlobalPooling2DImpl>("GlobalAveragePooling2D", average_pool2d, options)) {}

GlobalAveragePooling2D GlobalAveragePooling2D::from_config(LayerConfig& config) {
  return GlobalAveragePooling2D(read_options<GlobalPooling2DOptions>(config, list));
}

MaxPooling1D::MaxPooling1D(const Pooling1DOptions& options)
    : Layer(std::make_shared<Pooling1DImpl>("MaxPooling1D", max_pool2d, options)) {}

MaxPooling1D MaxPooling1D::from_config(LayerConfig& config) {
  return MaxPooling1D(read_options<Pooling1DOptions>(config, list));
}

AveragePooling1D::AveragePooling1D(const Pooling1DOptions& options)
    : Layer(std::make_shared<Pooling1DImpl>("AveragePooling1D", average_pool2d, options)) {}

AveragePooling1D AveragePooling1D::from_config(LayerConfig& config) {
  return AveragePooling1D(read_options<Pooling1DOptions>(config, list));
}

GlobalMaxPooling1D::GlobalMaxPooling1D(const GlobalPooling1DOptions& options)
    : Layer(std::make_shared<GlobalPooling1DImpl>("GlobalMaxPooling1D", max_pool2d, options)) {}

GlobalMaxPooling1D GlobalMaxPooling1D::from_config(LayerConfig& config) {
  return GlobalMaxPooling1D(read_options<GlobalPooling1DOptions>(config, list));
}

GlobalAveragePooling1D::GlobalAveragePooling1D(const GlobalPooling1DOptions& options)
    : Layer(std::make_shared<GlobalPooling1DImpl>("GlobalAveragePooling1D", average_pool2d, options)) {}

GlobalAveragePooling1D GlobalAveragePooling1D::from_config(LayerConfig& config) {
  return GlobalAveragePooling1D(read_options<GlobalPooling1DOptions>(config, list));
}

}  // namespace lockstep
