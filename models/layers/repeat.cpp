#include "lockstep/models/layers/repeat.h"

#include <utility>

#include <lockstep/kernels/array/shapes.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

class IdentityImpl final : public LayerImpl {
 public:
  explicit IdentityImpl(std::string name)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = true,
                                    .can_be_captured = true,
                                    .may_return_input = true,
                                    .supports_masking = true}) {}

  std::string_view class_name() const override { return "Identity"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return only_input(class_name(), inputs); }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return inputs[0]; }
  void describe(LayerConfig& /*config*/) const override {}
};

class RepeatVectorImpl final : public LayerOf<RepeatVectorOptions> {
 public:
  explicit RepeatVectorImpl(const RepeatVectorOptions& options)
      : LayerOf("RepeatVector", options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    require(options.n >= 1, "RepeatVector needs an n of at least 1, got {}", options.n);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() == 1, "RepeatVector takes vectors (features), got {}", input);
    return {options_.n, input[0]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return repeat(expand_dims(inputs[0], 1), options_.n, 1);
  }
};

class UpSampling1DImpl final : public LayerOf<UpSampling1DOptions> {
 public:
  explicit UpSampling1DImpl(const UpSampling1DOptions& options)
      : LayerOf("UpSampling1D", options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    require(options.size >= 1, "UpSampling1D needs a size of at least 1, got {}", options.size);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_sequence(class_name(), inputs);
    check_size_of_result(class_name(), input, static_cast<double>(options_.size) * static_cast<double>(input[0]));
    return {options_.size * input[0], input[1]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return repeat(inputs[0], options_.size, 1); }
};

class UpSampling2DImpl final : public LayerOf<UpSampling2DOptions> {
 public:
  explicit UpSampling2DImpl(const UpSampling2DOptions& options)
      : LayerOf("UpSampling2D", options,
                {.can_compute_in_bf16 = true, .can_be_captured = true, .may_return_input = true}) {
    require(options.size.height >= 1 && options.size.width >= 1, "UpSampling2D needs sizes of at least 1, got ({}, {})",
            options.size.height, options.size.width);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name(), inputs);
    const Size2d size = options_.size;
    check_size_of_result(class_name(), image, static_cast<double>(size.height) * static_cast<double>(image[0]));
    check_size_of_result(class_name(), image, static_cast<double>(size.width) * static_cast<double>(image[1]));
    return {size.height * image[0], size.width * image[1], image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& x = inputs[0];
    return resize(x, {options_.size.height * x.dim(1), options_.size.width * x.dim(2)},
                  {.interpolation = options_.interpolation});
  }
};

}  // namespace

void RepeatVectorOptions::describe(LayerConfig& config) { config.option("n", n); }

void UpSampling1DOptions::describe(LayerConfig& config) { config.option("size", size); }

void UpSampling2DOptions::describe(LayerConfig& config) {
  config.option("size", size);
  config.channels_last();
  config.option("interpolation", interpolation);
}

Identity::Identity(std::string name) : Layer(std::make_shared<IdentityImpl>(std::move(name))) {}

RepeatVector::RepeatVector(const RepeatVectorOptions& options) : Layer(std::make_shared<RepeatVectorImpl>(options)) {}

UpSampling1D::UpSampling1D(const UpSampling1DOptions& options) : Layer(std::make_shared<UpSampling1DImpl>(options)) {}

UpSampling2D::UpSampling2D(const UpSampling2DOptions& options) : Layer(std::make_shared<UpSampling2DImpl>(options)) {}

}  // namespace lockstep
