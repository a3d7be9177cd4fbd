#include <utility>

#include <lockstep/kernels/ops/array.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/layer_checks.h>

namespace lockstep {
namespace {

class FlattenImpl final : public LayerImpl {
 public:
  explicit FlattenImpl(std::string name) : LayerImpl(std::move(name)) {}

  std::string_view class_name() const override { return "Flatten"; }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return {only_input(class_name(), inputs).elements()};
  }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return flatten(inputs[0]); }
};

}  // namespace

Flatten::Flatten(std::string name) : Layer(std::make_shared<FlattenImpl>(std::move(name))) {}

}  // namespace lockstep
