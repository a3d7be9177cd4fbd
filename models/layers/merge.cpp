#include <algorithm>
#include <utility>

#include <lockstep/kernels/ops/array.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/merge.h>

namespace lockstep {
namespace {

class ConcatenateImpl final : public LayerImpl {
 public:
  explicit ConcatenateImpl(std::string name) : LayerImpl(std::move(name)) {}

  std::string_view class_name() const override { return "Concatenate"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    require(inputs.size() >= 2, "Concatenate takes at least two inputs, got {}", inputs.size());
    Shape result = inputs[0];
    require(result.rank() >= 1, "Concatenate needs an axis to join, got {}", result);
    const int last = result.rank() - 1;
    for (const Shape& input : inputs.subspan(1)) {
      const bool agrees = input.rank() == result.rank() && std::equal(input.begin(), input.end() - 1, result.begin());
      require(agrees, "Concatenate needs inputs that agree in all but the last axis, got {} and {}", inputs[0], input);
      result[last] += input[last];
    }
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return concat(inputs, -1); }
  bool joins_last_axis() const override { return true; }
};

}  // namespace

Concatenate::Concatenate(std::string name) : Layer(std::make_shared<ConcatenateImpl>(std::move(name))) {}

}  // namespace lockstep
