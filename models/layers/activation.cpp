#include <utility>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/layer_checks.h>

namespace lockstep {
namespace {

class ActivationImpl final : public LayerImpl {
 public:
  ActivationImpl(Activation activation, std::string name) : LayerImpl(std::move(name)), activation_(activation) {}

  std::string_view class_name() const override { return "Activation"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return only_input(class_name(), inputs); }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return activate(inputs[0], activation_); }
  bool is_relu() const override { return activation_ == Activation::relu; }

 private:
  Activation activation_;
};

}  // namespace

ActivationLayer::ActivationLayer(Activation activation, std::string name)
    : Layer(std::make_shared<ActivationImpl>(activation, std::move(name))) {}

}  // namespace lockstep
