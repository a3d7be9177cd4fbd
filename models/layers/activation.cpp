#include "lockstep/models/layers/activation.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

/// The traits of most functions.
constexpr LayerTraits elementwise{.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true};
constexpr LayerTraits is_relu{
    .can_compute_in_bf16 = true, .can_be_captured = true, .is_relu = true, .supports_masking = true};

struct ActivationOptions {
  Activation activation = Activation::linear;
  std::string name{};
  void describe(LayerConfig& config) { config.option("activation", activation); }
};

class ActivationImpl final : public LayerImpl {
 public:
  using Function = std::function<Tensor(const Tensor&)>;
  using Describe = std::function<void(LayerConfig&)>;

  /// `activation`: the enumerator of `function`, or linear if it has none.
  ActivationImpl(const char* class_name, Function function, Describe describe, const LayerTraits& traits,
                 Activation activation, std::string name)
      : LayerImpl(std::move(name), traits),
        class_name_(class_name),
        function_(std::move(function)),
        describe_(std::move(describe)),
        activation_(activation) {}

  std::string_view class_name() const override { return class_name_; }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name_, inputs);
    const bool sums = activation_ == Activation::softmax || activation_ == Activation::log_softmax;
    require(!sums || input.rank() >= 1, "{} of softmax or log_softmax needs an axis behind the batch axis, got {}",
            class_name_, input);
    return input;
  }
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return activated(call, activation_, [&](Activation activation) {
      return activation == activation_ ? function_(inputs[0]) : inputs[0];
    });
  }
  void describe(LayerConfig& config) const override { describe_(config); }

 private:
  const char* class_name_;
  Function function_;
  Describe describe_;
  Activation activation_;
};

class SoftmaxImpl final : public LayerOf<SoftmaxOptions> {
 public:
  /// The value of masked elements before the softmax, as in Keras.
  static constexpr double lowest_score = -1e9;

  explicit SoftmaxImpl(const SoftmaxOptions& options)
      : LayerOf("Softmax", options, {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true}) {}

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs.first(std::min<std::size_t>(inputs.size(), 1)));
    require(inputs.size() == 1 || (inputs.size() == 2 && std::ranges::equal(inputs[1], input, can_broadcast)),
            "Softmax takes an input and, at most, a mask of the same axes, which broadcasts to it, got {}",
            fmt::join(inputs, " and "));
    axes_of(class_name(), options_.axis, input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& x = inputs[0];
    if (const Tensor mask = inputs.size() == 2 ? truth(inputs[1]) : call.mask(0); mask.defined()) {
      check_mask(x, mask);
      return where(mask, softmax(where(mask, x, lowest_score), options_.axis), 0);
    }
    const bool over_last = options_.axis == std::vector{-1} || options_.axis == std::vector{x.rank() - 1};
    if (!over_last) return softmax(x, options_.axis);
    return call.is_output ? softmax(x) : activate(x, Activation::softmax);
  }

  Tensor compute_mask(std::span<const Tensor> inputs, std::span<const Tensor> masks) const override {
    if (inputs.size() == 1) check_mask(inputs[0], masks[0]);
    return masks[0];
  }

 private:
  static bool can_broadcast(std::int64_t size, std::int64_t to) { return size == 1 || size == to; }
  static Tensor truth(const Tensor& mask) {
    return mask.dtype() == DType::boolean ? mask : greater(cast(mask, DType::f32), 0.5);
  }
  void check_mask(const Tensor& x, const Tensor& mask) const {
    require(mask.rank() == x.rank(),
            "Softmax '{}' needs a mask of its input's shape, but its input has a mask of time steps: use the "
            "activation softmax of Dense or Activation, which passes such a mask on",
            name());
  }
};

class PReLUImpl final : public LayerOf<PReLUOptions> {
 public:
  explicit PReLUImpl(const PReLUOptions& options)
      : LayerOf("PReLU", options, {.can_be_captured = true, .supports_masking = true}) {}

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    const Shape weights = shape_of_alpha(input);
    require(!is_built() || weights == alpha_.shape(), "PReLU '{}' was built for an alpha of {}, got {}", name(),
            is_built() ? alpha_.shape() : Shape(), input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return relu(inputs[0]) - alpha_.value() * relu(-inputs[0]);
  }

 private:
  Shape shape_of_alpha(const Shape& input) const {
    Shape shape = input;
    for (const int axis : options_.shared_axes) {
      const int own = axis >= 1 ? axis - 1 : input.rank() + axis - 1;
      require(0 <= own && own < input.rank(), "PReLU needs axes behind the batch axis, got ({}) for {}",
              fmt::join(options_.shared_axes, ", "), input);
      shape[own] = 1;
    }
    return shape;
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    alpha_ = add_weight(
        {.name = "alpha", .shape = shape_of_alpha(inputs[0]), .initializer = options_.alpha_initializer(seed.key(0))},
        options_.alpha_regularizer, options_.alpha_constraint);
  }

  Variable alpha_;
};

/// A layer that applies `function`.
template <class Options>
std::shared_ptr<LayerImpl> make(const char* class_name, ActivationImpl::Function function, const Options& options,
                                const LayerTraits& traits = elementwise, Activation activation = Activation::linear) {
  auto describe = [options](LayerConfig& config) { write_options(config, options); };
  return std::make_shared<ActivationImpl>(class_name, std::move(function), std::move(describe), traits, activation,
                                          options.name);
}

}  // namespace

void ReLUOptions::describe(LayerConfig& config) {
  config.option("max_value", max_value);
  config.option("negative_slope", negative_slope);
  config.option("threshold", threshold);
}

void LeakyReLUOptions::describe(LayerConfig& config) {
  config.renamed("alpha", "negative_slope");
  config.option("negative_slope", negative_slope);
}

void ELUOptions::describe(LayerConfig& config) { config.option("alpha", alpha); }

void PReLUOptions::describe(LayerConfig& config) {
  config.option("alpha_initializer", alpha_initializer);
  config.option("alpha_regularizer", alpha_regularizer);
  config.option("alpha_constraint", alpha_constraint);
  config.axes("shared_axes", shared_axes);
}

void SoftmaxOptions::describe(LayerConfig& config) { config.axes("axis", axis); }

ActivationLayer::ActivationLayer(Activation activation, std::string name)
    : Layer(make(
          "Activation", [activation](const Tensor& x) { return activate(x, activation); },
          ActivationOptions{.activation = activation, .name = std::move(name)},
          {.can_compute_in_bf16 = true,
           .can_be_captured = true,
           .is_relu = activation == Activation::relu,
           .may_return_input = activation == Activation::linear,
           .supports_masking = true},
          activation)) {}

ActivationLayer ActivationLayer::from_config(LayerConfig& config) {
  const auto options = read_options<ActivationOptions>(config);
  return ActivationLayer(options.activation, options.name);
}

ReLU::ReLU(const ReLUOptions& options)
    : Layer(make(
          "ReLU",
          [options](const Tensor& x) { return relu(x, options.negative_slope, options.max_value, options.threshold); },
          options,
          options.max_value || options.negative_slope != 0 || options.threshold != 0 ? elementwise : is_relu)) {
  require(options.max_value.value_or(0) >= 0 && options.negative_slope >= 0 && options.threshold >= 0,
          "ReLU needs a max_value, a negative_slope and a threshold of at least 0, got {}, {} and {}",
          options.max_value.value_or(0), options.negative_slope, options.threshold);
}

LeakyReLU::LeakyReLU(const LeakyReLUOptions& options)
    : Layer(make(
          "LeakyReLU", [slope = options.negative_slope](const Tensor& x) { return leaky_relu(x, slope); }, options)) {
  require(options.negative_slope >= 0, "LeakyReLU needs a negative_slope of at least 0, got {}",
          options.negative_slope);
}

ELU::ELU(const ELUOptions& options)
    : Layer(make(
          "ELU", [alpha = options.alpha](const Tensor& x) { return elu(x, alpha); }, options)) {
  require(options.alpha >= 0, "ELU needs an alpha of at least 0, got {}", options.alpha);
}

PReLU::PReLU(const PReLUOptions& options) : Layer(std::make_shared<PReLUImpl>(options)) {}

Softmax::Softmax(const SoftmaxOptions& options) : Layer(std::make_shared<SoftmaxImpl>(options)) {}

}  // namespace lockstep
