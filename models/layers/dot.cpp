#include "lockstep/models/layers/dot.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

/// The axis of an input (with the batch axis) that is summed over.
int summed_axis(std::int64_t axis, const Shape& input) {
  const auto result = static_cast<int>(axis < 0 ? axis + input.rank() : axis);
  const bool exists = -input.rank() <= axis && axis < input.rank();
  require(exists && result > 0, "Dot can sum over any axis but the batch axis, got {} for (batch) + {}", axis,
          without_batch_axis(input));
  return result;
}

/// x / max(||x||, 1e-7) along the axis, like keras.ops.normalize with its default epsilon.
Tensor normalized(const Tensor& x, int axis) {
  constexpr double least_square = 1e-14;
  return x / sqrt(maximum(sum(square(x), {axis}, true), least_square));
}

/// An input's term of the equation: `a` for the batch axis, `z` for the axis `summed`, and letters from `next` on for
/// the others.
std::string term_of(int rank, int summed, char& next) {
  std::string term = "a";
  for (int axis = 1; axis < rank; ++axis) term += axis == summed ? 'z' : next++;
  return term;
}

class DotImpl final : public LayerOf<DotOptions> {
 public:
  explicit DotImpl(const DotOptions& options)
      : LayerOf("Dot", options, {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true}) {
    const auto& axes = options.axes;
    require((axes.size() == 1 || axes.size() == 2) && axes.front() != 0 && axes.back() != 0,
            "Dot needs one or two axes that are not the batch axis, 0, got ({})", fmt::join(axes, ", "));
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    require(inputs.size() == 2, "Dot takes two inputs, got {}", inputs.size());
    Shape result;
    std::array<std::int64_t, 2> sizes{};
    for (std::size_t i = 0; i < 2; ++i) {
      const Shape input = with_batch_axis(inputs[i]);
      const int summed = axis_of(i, input);
      sizes[i] = input[summed];
      for (int axis = 1; axis < input.rank(); ++axis)
        if (axis != summed) result.push_back(input[axis]);
    }
    require(sizes[0] == sizes[1], "Dot needs axes of one size, got {} and {} in {} and {}", sizes[0], sizes[1],
            inputs[0], inputs[1]);
    if (result.rank() == 0) result.push_back(1);
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    std::array<Tensor, 2> operands;
    std::array<std::string, 2> terms;
    char next = 'b';
    for (std::size_t i = 0; i < 2; ++i) {
      const int axis = axis_of(i, inputs[i].shape());
      operands[i] = options_.normalize ? normalized(inputs[i], axis) : inputs[i];
      terms[i] = term_of(inputs[i].rank(), axis, next);
    }
    std::string result = "a";
    for (char letter = 'b'; letter < next; ++letter) result += letter;
    const Tensor y = einsum(fmt::format("{},{}->{}", terms[0], terms[1], result), operands);
    return y.rank() == 1 ? reshape(y, {y.dim(0), 1}) : y;
  }

  Tensor compute_mask(std::span<const Tensor>, std::span<const Tensor>) const override { return {}; }

 private:
  int axis_of(std::size_t input, const Shape& shape) const {
    return summed_axis(input == 0 ? options_.axes.front() : options_.axes.back(), shape);
  }
};

}  // namespace

void DotOptions::describe(LayerConfig& config) {
  config.one_or_more("axes", axes);
  config.option("normalize", normalize);
}

Dot::Dot(const DotOptions& options) : Layer(std::make_shared<DotImpl>(options)) {}

}  // namespace lockstep
