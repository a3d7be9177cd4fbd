#include "lockstep/models/layers/merge.h"

#include <utility>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

void check_at_least_two(std::string_view layer, std::span<const Shape> inputs) {
  require(inputs.size() >= 2, "{} takes at least two inputs, got {}", layer, inputs.size());
}

void list(LayerConfig& config, ConcatenateOptions& options) {
  std::int64_t axis = options.axis;
  config.option("axis", axis);
  options.axis = static_cast<int>(axis);
}

void list(LayerConfig&, NoOptions&) {}

class ConcatenateImpl final : public LayerImpl {
 public:
  explicit ConcatenateImpl(const ConcatenateOptions& options)
      : LayerImpl(options.name,
                  {.can_compute_in_bf16 = true, .can_be_captured = true, .joins_last_axis = options.axis == -1}),
        axis_(options.axis) {
    require(axis_ != 0, "Concatenate joins any axis but the batch axis, 0");
  }

  std::string_view class_name() const override { return "Concatenate"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    check_at_least_two(class_name(), inputs);
    const Shape& first = inputs[0];
    const int axis = axis_ < 0 ? axis_ + first.rank() : axis_ - 1;
    require(axis >= 0 && axis < first.rank(), "Concatenate has no axis {} to join in (batch) + {}", axis_, first);
    Shape result = first;
    for (const Shape& input : inputs.subspan(1)) {
      bool agrees = input.rank() == first.rank();
      for (int i = 0; agrees && i < first.rank(); ++i) agrees = i == axis || input[i] == first[i];
      require(agrees, "Concatenate needs inputs that agree in all but {}, got {} and {}",
              axis_ == -1 ? "the last axis" : "the joined axis", first, input);
      result[axis] += input[axis];
    }
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return concat(inputs, axis_); }
  void describe(LayerConfig& config) const override { write_options(config, list, ConcatenateOptions{.axis = axis_}); }

 private:
  int axis_;
};

class AddImpl final : public LayerImpl {
 public:
  explicit AddImpl(std::string name)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = true, .can_be_captured = true, .is_add = true}) {}

  std::string_view class_name() const override { return "Add"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    check_at_least_two(class_name(), inputs);
    for (const Shape& input : inputs)
      require(input == inputs[0], "Add needs inputs of one shape, got {} and {}", inputs[0], input);
    return inputs[0];
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return add_n(inputs); }
  void describe(LayerConfig& config) const override { write_options(config, list, NoOptions()); }
};

}  // namespace

Concatenate::Concatenate(const ConcatenateOptions& options) : Layer(std::make_shared<ConcatenateImpl>(options)) {}

Concatenate Concatenate::from_config(LayerConfig& config) {
  return Concatenate(read_options<ConcatenateOptions>(config, list));
}

Add::Add(std::string name) : Layer(std::make_shared<AddImpl>(std::move(name))) {}

Add Add::from_config(LayerConfig& config) { return Add(read_options<NoOptions>(config, list).name); }

}  // namespace lockstep
