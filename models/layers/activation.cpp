#include "lockstep/models/layers/activation.h"

#include <functional>
#include <utility>

#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

/// Of most functions.
constexpr LayerTraits elementwise{.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true};
constexpr LayerTraits is_relu{
    .can_compute_in_bf16 = true, .can_be_captured = true, .is_relu = true, .supports_masking = true};

struct ActivationOptions {
  Activation activation = Activation::linear;
  std::string name{};
};

void list_activation(LayerConfig& config, ActivationOptions& options) {
  config.option("activation", options.activation);
}

void list_relu(LayerConfig& config, ReLUOptions& options) {
  config.option("max_value", options.max_value);
  config.option("negative_slope", options.negative_slope);
  config.fixed("threshold", 0.0);
}

/// The function of a ReLU: one op where there is one, which is faster than two.
std::function<Tensor(const Tensor&)> function_of(const ReLUOptions& options) {
  const double slope = options.negative_slope;
  const auto unbounded = [slope](const Tensor& x) { return slope == 0 ? relu(x) : leaky_relu(x, slope); };
  if (!options.max_value) return unbounded;
  if (*options.max_value == 6 && slope == 0) return [](const Tensor& x) { return relu6(x); };
  return [unbounded, most = *options.max_value](const Tensor& x) { return minimum(unbounded(x), most); };
}

void list_leaky_relu(LayerConfig& config, LeakyReLUOptions& options) {
  config.renamed("alpha", "negative_slope");
  config.option("negative_slope", options.negative_slope);
}

void list_elu(LayerConfig& config, ELUOptions& options) { config.option("alpha", options.alpha); }

void list_softmax(LayerConfig& config, NoOptions&) { config.last_axis("axis"); }

class ActivationImpl final : public LayerImpl {
 public:
  using Function = std::function<Tensor(const Tensor&)>;
  using Describe = std::function<void(LayerConfig&)>;

  /// `activation`: what the function is, if it is one of those.
  ActivationImpl(const char* class_name, Function function, Describe describe, const LayerTraits& traits,
                 Activation activation, std::string name)
      : LayerImpl(std::move(name), traits),
        class_name_(class_name),
        function_(std::move(function)),
        describe_(std::move(describe)),
        activation_(activation) {}

  std::string_view class_name() const override { return class_name_; }
  Shape output_shape(std::span<const Shape> inputs) const override { return only_input(class_name_, inputs); }
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

/// A layer of a function, with its options and how they are listed.
template <class Options>
std::shared_ptr<LayerImpl> make(const char* class_name, ActivationImpl::Function function,
                                void (*list)(LayerConfig&, Options&), const Options& options,
                                const LayerTraits& traits = elementwise, Activation activation = Activation::linear) {
  auto describe = [list, options](LayerConfig& config) { write_options(config, list, options); };
  return std::make_shared<ActivationImpl>(class_name, std::move(function), std::move(describe), traits, activation,
                                          options.name);
}

}  // namespace

ActivationLayer::ActivationLayer(Activation activation, std::string name)
    : Layer(make(
          "Activation", [activation](const Tensor& x) { return activate(x, activation); }, list_activation,
          ActivationOptions{.activation = activation, .name = std::move(name)},
          {.can_compute_in_bf16 = has_bf16(activation),
           .can_be_captured = true,
           .is_relu = activation == Activation::relu,
           .may_return_input = activation == Activation::linear,
           .supports_masking = true},
          activation)) {}

ActivationLayer ActivationLayer::from_config(LayerConfig& config) {
  const auto options = read_options(config, list_activation);
  return ActivationLayer(options.activation, options.name);
}

ReLU::ReLU(const ReLUOptions& options)
    : Layer(make("ReLU", function_of(options), list_relu, options,
                 options.max_value || options.negative_slope != 0 ? elementwise : is_relu)) {
  require(options.max_value.value_or(0) >= 0 && options.negative_slope >= 0,
          "ReLU needs a max_value and a negative_slope of at least 0, got {} and {}", options.max_value.value_or(0),
          options.negative_slope);
}

ReLU ReLU::from_config(LayerConfig& config) { return ReLU(read_options(config, list_relu)); }

LeakyReLU::LeakyReLU(const LeakyReLUOptions& options)
    : Layer(make(
          "LeakyReLU", [slope = options.negative_slope](const Tensor& x) { return leaky_relu(x, slope); },
          list_leaky_relu, options)) {
  require(options.negative_slope >= 0, "LeakyReLU needs a negative_slope of at least 0, got {}",
          options.negative_slope);
}

LeakyReLU LeakyReLU::from_config(LayerConfig& config) { return LeakyReLU(read_options(config, list_leaky_relu)); }

ELU::ELU(const ELUOptions& options)
    : Layer(make(
          "ELU", [alpha = options.alpha](const Tensor& x) { return elu(x, alpha); }, list_elu, options)) {
  require(options.alpha >= 0, "ELU needs an alpha of at least 0, got {}", options.alpha);
}

ELU ELU::from_config(LayerConfig& config) { return ELU(read_options(config, list_elu)); }

Softmax::Softmax(std::string name)
    : Layer(make(
          "Softmax", [](const Tensor& x) { return activate(x, Activation::softmax); }, list_softmax,
          NoOptions{.name = std::move(name)}, {.can_be_captured = true}, Activation::softmax)) {}

Softmax Softmax::from_config(LayerConfig& config) { return Softmax(read_options(config, list_softmax).name); }

}  // namespace lockstep
