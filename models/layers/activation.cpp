#include <functional>
#include <utility>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/layer_checks.h>

namespace lockstep {
namespace {

class ActivationImpl final : public LayerImpl {
 public:
  using Function = std::function<Tensor(const Tensor&)>;

  ActivationImpl(const char* class_name, Function function, bool is_relu, std::string name)
      : LayerImpl(std::move(name)), class_name_(class_name), function_(std::move(function)), is_relu_(is_relu) {}

  std::string_view class_name() const override { return class_name_; }
  Shape output_shape(std::span<const Shape> inputs) const override { return only_input(class_name_, inputs); }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return function_(inputs[0]); }
  bool is_relu() const override { return is_relu_; }

 private:
  const char* class_name_;
  Function function_;
  bool is_relu_;
};

std::shared_ptr<LayerImpl> make(const char* class_name, ActivationImpl::Function function, std::string name,
                                bool is_relu = false) {
  return std::make_shared<ActivationImpl>(class_name, std::move(function), is_relu, std::move(name));
}

}  // namespace

ActivationLayer::ActivationLayer(Activation activation, std::string name)
    : Layer(make(
          "Activation", [activation](const Tensor& x) { return activate(x, activation); }, std::move(name),
          activation == Activation::relu)) {}

ReLU::ReLU(std::string name) : Layer(make("ReLU", relu, std::move(name), true)) {}

LeakyReLU::LeakyReLU(const LeakyReLUOptions& options)
    : Layer(make(
          "LeakyReLU", [slope = options.negative_slope](const Tensor& x) { return leaky_relu(x, slope); },
          options.name)) {
  require(options.negative_slope >= 0, "LeakyReLU needs a negative_slope of at least 0, got {}",
          options.negative_slope);
}

ELU::ELU(const ELUOptions& options)
    : Layer(make(
          "ELU", [alpha = options.alpha](const Tensor& x) { return elu(x, alpha); }, options.name)) {
  require(options.alpha >= 0, "ELU needs an alpha of at least 0, got {}", options.alpha);
}

Softmax::Softmax(std::string name) : Layer(make("Softmax", softmax, std::move(name))) {}

}  // namespace lockstep
