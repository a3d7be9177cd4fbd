#include "lockstep/models/layers/conv1d.h"

#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, Conv1DOptions& options) {
  config.option("filters", options.filters);
  config.only_size("kernel_size", options.kernel_size);
  config.only_size("strides", options.strides);
  config.choice("padding", options.padding,
                {{"valid", Padding1d::valid}, {"same", Padding1d::same}, {"causal", Padding1d::causal}});
  config.fixed("data_format", "channels_last");
  config.only_size("dilation_rate", options.dilation_rate);
  config.option("groups", options.groups);
  config.option("activation", options.activation);
  config.option("use_bias", options.use_bias);
  config.option("kernel_initializer", options.kernel_initializer);
  config.option("bias_initializer", options.bias_initializer);
  config.option("kernel_regularizer", options.kernel_regularizer);
  config.option("bias_regularizer", options.bias_regularizer);
  config.fixed_null("activity_regularizer");
  config.option("kernel_constraint", options.kernel_constraint);
  config.option("bias_constraint", options.bias_constraint);
}

class Conv1DImpl final : public LayerImpl {
 public:
  explicit Conv1DImpl(const Conv1DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = has_bf16(options.activation), .can_be_captured = true}),
        options_(options) {
    const auto check = [](const char* what, std::int64_t number) {
      require(number >= 1, "Conv1D needs {} of at least 1, got {}", what, number);
    };
    check("filters", options.filters);
    check("a kernel_size", options.kernel_size);
    check("strides", options.strides);
    check("a dilation_rate", options.dilation_rate);
    check("groups", options.groups);
    require(options.strides == 1 || options.dilation_rate == 1,
            "Conv1D takes strides or a dilation_rate above 1, not both");
    require(options.filters % options.groups == 0, "Conv1D needs filters that make {} groups, got {}", options.groups,
            options.filters);
  }

  std::string_view class_name() const override { return "Conv1D"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() == 2, "Conv1D takes sequences (steps, channels), got {}", input);
    require(!is_built() || input[1] == kernel_.shape()[1] * options_.groups,
            "Conv1D '{}' was built for {} channels, got {}", name(),
            is_built() ? kernel_.shape()[1] * options_.groups : 0, input);
    require(input[1] % options_.groups == 0, "Conv1D needs channels that make {} groups, got {}", options_.groups,
            input[1]);
    return {conv1d_steps("Conv1D", with_batch_axis(input), options_.kernel_size, conv(options_.activation)),
            options_.filters};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated(call, options_.activation, [&](Activation activation) {
      return conv1d(inputs[0], kernel_.value(), value_if_any(bias_), conv(activation));
    });
  }

  void describe(LayerConfig& config) const override { write_options(config, list, options_); }

 private:
  Conv1dOptions conv(Activation activation) const {
    return {.stride = options_.strides,
            .padding = options_.padding,
            .dilation = options_.dilation_rate,
            .groups = options_.groups,
            .activation = activation};
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    kernel_ = add_weight({.name = "kernel",
                          .shape = {options_.kernel_size, inputs[0][1] / options_.groups, options_.filters},
                          .initializer = options_.kernel_initializer(seed.key(0))},
                         options_.kernel_regularizer, options_.kernel_constraint);
    if (options_.use_bias)
      bias_ = add_weight(
          {.name = "bias", .shape = {options_.filters}, .initializer = options_.bias_initializer(seed.key(1))},
          options_.bias_regularizer, options_.bias_constraint);
  }

  Conv1DOptions options_;
  Variable kernel_;
  Variable bias_;
};

}  // namespace

Conv1D::Conv1D(const Conv1DOptions& options) : Layer(std::make_shared<Conv1DImpl>(options)) {}

Conv1D Conv1D::from_config(LayerConfig& config) { return Conv1D(read_options<Conv1DOptions>(config, list)); }

}  // namespace lockstep
