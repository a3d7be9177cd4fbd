#include "lockstep/models/layers/lambda.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <lockstep/models/layers/layer_checks.h>

namespace lockstep {
namespace {

using Function = std::function<Tensor(std::span<const Tensor>)>;

class LambdaImpl final : public LayerImpl {
 public:
  LambdaImpl(Function function, const LambdaOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .may_return_input = true}),
        function_(std::move(function)),
        output_shape_(options.output_shape) {}

  std::string_view class_name() const override { return "Lambda"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    if (output_shape_) return *output_shape_;
    // Images of the sizes that stand for unknown ones would take gigabytes.
    const auto have_more_than = [&](std::int64_t count) {
      return std::ranges::any_of(inputs, [&](const Shape& x) { return x.elements() > count; });
    };
    if (!have_more_than(1 << 24)) return result_shape(inputs, 1);
    try {
      return result_shape(inputs, 0);
    } catch (InvalidArgument& error) {
      if (!have_more_than(1 << 28)) return result_shape(inputs, 1);
      error.add_context("Lambda without output_shape calls its function with 0 rows; set output_shape");
      throw;
    }
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return result_of(inputs); }

  void describe(LayerConfig&) const override {
    fail<Unsupported>(
        "files of whole models cannot hold layer '{}', a Lambda; derive a class from LayerImpl, or save only the "
        "weights",
        name());
  }

 private:
  Shape result_shape(std::span<const Shape> inputs, std::int64_t rows) const {
    std::vector<Tensor> examples;
    for (const Shape& input : inputs) examples.push_back(Tensor::zeros(with_batch_axis(input, rows), call_dtype()));
    return without_batch_axis(result_of(examples).shape());
  }

  Tensor result_of(std::span<const Tensor> inputs) const {
    const Tensor y = function_(inputs);
    require(y.defined() && y.rank() > 0 && y.dim(0) == inputs[0].dim(0),
            "the function of Lambda must return a row for each row of its input {}, got {}", inputs[0], y);
    return y;
  }

  Function function_;
  std::optional<Shape> output_shape_;
};

Layer make_lambda(Function function, const LambdaOptions& options) {
  require(function != nullptr, "Lambda needs a function");
  return Layer(std::make_shared<LambdaImpl>(std::move(function), options));
}

Function of_first(std::function<Tensor(const Tensor&)> function) {
  if (!function) return nullptr;
  return [function = std::move(function)](std::span<const Tensor> inputs) {
    require(inputs.size() == 1, "the function of Lambda takes one tensor, got {}", inputs.size());
    return function(inputs[0]);
  };
}

}  // namespace

Lambda::Lambda(std::function<Tensor(const Tensor&)> function, const LambdaOptions& options)
    : Layer(make_lambda(of_first(std::move(function)), options)) {}

Lambda::Lambda(std::function<Tensor(std::span<const Tensor>)> function, const LambdaOptions& options)
    : Layer(make_lambda(std::move(function), options)) {}

}  // namespace lockstep
