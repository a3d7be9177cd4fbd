#include "lockstep/models/layers/flatten.h"

#include <utility>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

class FlattenImpl final : public LayerImpl {
 public:
  explicit FlattenImpl(std::string name)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = true, .can_be_captured = true}) {}

  std::string_view class_name() const override { return "Flatten"; }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return {only_input(class_name(), inputs).elements()};
  }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return flatten(inputs[0]); }
  void describe(LayerConfig& config) const override { config.channels_last(); }
};

}  // namespace

Flatten::Flatten(std::string name) : Layer(std::make_shared<FlattenImpl>(std::move(name))) {}

Flatten Flatten::from_config(LayerConfig& config) {
  config.channels_last();
  return Flatten(read_name(config));
}

}  // namespace lockstep
