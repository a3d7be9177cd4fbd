#include "lockstep/models/layers/conv_transpose.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include <fmt/ranges.h>

#include <lockstep/kernels/convolution/conv1d_transpose.h>
#include <lockstep/kernels/convolution/conv2d_transpose.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

/// Options: Conv2DTransposeOptions or Conv1DTransposeOptions.
template <class Options>
void list(LayerConfig& config, Options& options) {
  config.option("filters", options.filters);
  list_size(config, "kernel_size", options.kernel_size);
  list_size(config, "strides", options.strides);
  config.option("padding", options.padding);
  list_size(config, "output_padding", options.output_padding);
  config.channels_last();
  list_size(config, "dilation_rate", options.dilation_rate);
  config.option("activation", options.activation);
  config.option("use_bias", options.use_bias);
  list_kernel_and_bias(config, options);
  config.passed_over("groups");  // always 1 in Keras 2
}

/// A size along each spatial axis.
std::vector<std::int64_t> sizes(Size2d size) { return {size.height, size.width}; }
std::vector<std::int64_t> sizes(std::int64_t size) { return {size}; }

/// Options: Conv2DTransposeOptions or Conv1DTransposeOptions.
template <class Options>
class ConvTransposeImpl final : public LayerOf<Options> {
  using Base = LayerOf<Options>;

 public:
  ConvTransposeImpl(const char* class_name, const Options& options)
      : Base(class_name, options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    require(options.filters >= 1, "{} needs at least 1 filter, got {}", class_name, options.filters);
    const auto check = [&](const char* what, const auto& size) {
      const std::vector<std::int64_t> all = sizes(size);
      require(std::ranges::min(all) >= 1, "{} needs {} of at least 1, got ({})", class_name, what,
              fmt::join(all, ", "));
      return std::ranges::max(all) > 1;
    };
    check("a kernel_size", options.kernel_size);
    const bool strided = check("strides", options.strides);
    const bool dilated = check("a dilation_rate", options.dilation_rate);
    require(!strided || !dilated, "{} takes strides or a dilation_rate above 1, not both", class_name);
    if (!options.output_padding) return;
    const std::vector<std::int64_t> added = sizes(*options.output_padding);
    const std::vector<std::int64_t> strides = sizes(options.strides);
    for (std::size_t axis = 0; axis < added.size(); ++axis)
      require(added[axis] >= 0 && added[axis] < strides[axis],
              "{} needs an output_padding of at least 0 and below the strides, got ({}) for ({})", class_name,
              fmt::join(added, ", "), fmt::join(strides, ", "));
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = is_1d ? only_sequence(class_name_, inputs) : only_image(class_name_, inputs);
    require(!this->is_built() || input.dim(-1) == kernel_.shape().dim(-1), "{} '{}' was built for {} channels, got {}",
            class_name_, this->name(), this->is_built() ? kernel_.shape().dim(-1) : 0, input);
    const Shape x = with_batch_axis(input);
    const auto options = conv(Activation::linear);
    if constexpr (is_1d)
      return {conv1d_transpose_steps(class_name_, x, options_.kernel_size, options), options_.filters};
    else {
      const Size2d size = slide_transposed(class_name_, x, options_.kernel_size, options).output;
      return {size.height, size.width, options_.filters};
    }
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated_and_penalized(call, options_, [&](Activation activation) {
      if constexpr (is_1d)
        return conv1d_transpose(inputs[0], kernel_.value(), this->value_if_any(bias_), conv(activation));
      else
        return conv2d_transpose(inputs[0], kernel_.value(), this->value_if_any(bias_), conv(activation));
    });
  }

 private:
  using Base::class_name_;
  using Base::options_;

  static constexpr bool is_1d = std::is_same_v<Options, Conv1DTransposeOptions>;
  using OpOptions = std::conditional_t<is_1d, Conv1dTransposeOptions, Conv2dTransposeOptions>;

  OpOptions conv(Activation activation) const {
    return {options_.strides, options_.padding, options_.output_padding, options_.dilation_rate, activation};
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    kernel_ = this->add_kernel(kernel_shape(options_.kernel_size, options_.filters, inputs[0].dim(-1)), seed.key(0));
    bias_ = this->add_bias({options_.filters}, seed.key(1));
  }

  Variable kernel_;
  Variable bias_;
};

}  // namespace

void Conv2DTransposeOptions::describe(LayerConfig& config) { list(config, *this); }

void Conv1DTransposeOptions::describe(LayerConfig& config) { list(config, *this); }

Conv2DTranspose::Conv2DTranspose(const Conv2DTransposeOptions& options)
    : Layer(std::make_shared<ConvTransposeImpl<Conv2DTransposeOptions>>("Conv2DTranspose", options)) {}

Conv1DTranspose::Conv1DTranspose(const Conv1DTransposeOptions& options)
    : Layer(std::make_shared<ConvTransposeImpl<Conv1DTransposeOptions>>("Conv1DTranspose", options)) {}

}  // namespace lockstep
