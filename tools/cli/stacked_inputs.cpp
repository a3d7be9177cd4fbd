#include "stacked_inputs.h"

#include <lockstep/kernels/ops/array.h>

namespace lockstep::cli {
namespace {

/// One of the inputs, as a view.
class StackedInput final : public LayerImpl {
 public:
  StackedInput(std::string name, int index) : LayerImpl(std::move(name)), index_(index) {}

  std::string_view class_name() const override { return "Lambda"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    return Shape(std::span(inputs[0].begin() + 1, inputs[0].end()));
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& x = inputs[0];
    Shape shape{x.dim(0)};
    for (int axis = 2; axis < x.rank(); ++axis) shape.push_back(x.dim(axis));
    return reshape(dense_copy(slice(x, 1, index_, index_ + 1)), shape);
  }

 private:
  int index_;
};

struct StackedModel : Model {
  StackedModel(const Symbol& input, const Symbol& output, const Model& model)
      : Model(std::vector{input}, std::vector{output}, {.name = model.name()}, model) {}
};

}  // namespace

Model stack_inputs(const Model& model) {
  const Network& network = model.network();
  Shape shape{static_cast<std::int64_t>(network.inputs().size())};
  for (const std::int64_t size : network.input_shape()) shape.push_back(size);
  const Symbol stacked = Input(shape);
  std::vector<Symbol> inputs;
  for (int i = 0; i < shape[0]; ++i) {
    const std::string name = network.inputs()[static_cast<std::size_t>(i)].name;
    inputs.push_back(Layer(std::make_shared<StackedInput>("stacked_" + name, i))(stacked));
  }
  std::vector<Symbol> results;
  for (const GraphCall& call : network.calls()) {
    std::vector<Symbol> from;
    for (const int source : call.inputs)
      from.push_back(source < 0 ? inputs[static_cast<std::size_t>(-1 - source)]
                                : results[static_cast<std::size_t>(source)]);
    results.push_back(network.layers()[static_cast<std::size_t>(call.layer)](from));
  }
  return StackedModel(stacked, results.back(), model);
}

}  // namespace lockstep::cli
