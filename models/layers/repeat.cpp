#include "lockstep/models/layers/repeat.h"

#include <utility>

#include <lockstep/kernels/array/shapes.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, RepeatVectorOptions& options) { config.option("n", options.n); }

void list(LayerConfig& config, UpSampling1DOptions& options) { config.option("size", options.size); }

void list(LayerConfig& config, UpSampling2DOptions& options) {
  config.option("size", options.size);
  config.channels_last();
  config.option("interpolation", options.interpolation);
}

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

class RepeatVectorImpl final : public LayerImpl {
 public:
  explicit RepeatVectorImpl(const RepeatVectorOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true}), n_(options.n) {
    require(n_ >= 1, "RepeatVector needs an n of at least 1, got {}", n_);
  }

  std::string_view class_name() const override { return "RepeatVector"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() == 1, "RepeatVector takes vectors (features), got {}", input);
    return {n_, input[0]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return repeat(expand_dims(inputs[0], 1), n_, 1);
  }

  void describe(LayerConfig& config) const override { write_options(config, list, RepeatVectorOptions{.n = n_}); }

 private:
  std::int64_t n_;
};

class UpSampling1DImpl final : public LayerImpl {
 public:
  explicit UpSampling1DImpl(const UpSampling1DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true}), size_(options.size) {
    require(size_ >= 1, "UpSampling1D needs a size of at least 1, got {}", size_);
  }

  std::string_view class_name() const override { return "UpSampling1D"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_sequence(class_name(), inputs);
    check_size_of_result(class_name(), input, static_cast<double>(size_) * static_cast<double>(input[0]));
    return {size_ * input[0], input[1]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return repeat(inputs[0], size_, 1); }
  void describe(LayerConfig& config) const override { write_options(config, list, UpSampling1DOptions{.size = size_}); }

 private:
  std::int64_t size_;
};

class UpSampling2DImpl final : public LayerImpl {
 public:
  explicit UpSampling2DImpl(const UpSampling2DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true, .may_return_input = true}),
        size_(options.size),
        interpolation_(options.interpolation) {
    require(size_.height >= 1 && size_.width >= 1, "UpSampling2D needs sizes of at least 1, got ({}, {})", size_.height,
            size_.width);
  }

  std::string_view class_name() const override { return "UpSampling2D"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name(), inputs);
    check_size_of_result(class_name(), image, static_cast<double>(size_.height) * static_cast<double>(image[0]));
    check_size_of_result(class_name(), image, static_cast<double>(size_.width) * static_cast<double>(image[1]));
    return {size_.height * image[0], size_.width * image[1], image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& x = inputs[0];
    return resize(x, {size_.height * x.dim(1), size_.width * x.dim(2)}, {.interpolation = interpolation_});
  }

  void describe(LayerConfig& config) const override {
    write_options(config, list, UpSampling2DOptions{.size = size_, .interpolation = interpolation_});
  }

 private:
  Size2d size_;
  Interpolation interpolation_;
};

}  // namespace

Identity::Identity(std::string name) : Layer(std::make_shared<IdentityImpl>(std::move(name))) {}

Identity Identity::from_config(LayerConfig& config) { return Identity(read_name(config)); }

RepeatVector::RepeatVector(const RepeatVectorOptions& options) : Layer(std::make_shared<RepeatVectorImpl>(options)) {}

RepeatVector RepeatVector::from_config(LayerConfig& config) {
  return RepeatVector(read_options<RepeatVectorOptions>(config, list));
}

UpSampling1D::UpSampling1D(const UpSampling1DOptions& options) : Layer(std::make_shared<UpSampling1DImpl>(options)) {}

UpSampling1D UpSampling1D::from_config(LayerConfig& config) {
  return UpSampling1D(read_options<UpSampling1DOptions>(config, list));
}

UpSampling2D::UpSampling2D(const UpSampling2DOptions& options) : Layer(std::make_shared<UpSampling2DImpl>(options)) {}

UpSampling2D UpSampling2D::from_config(LayerConfig& config) {
  return UpSampling2D(read_options<UpSampling2DOptions>(config, list));
}

}  // namespace lockstep
