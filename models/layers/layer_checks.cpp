#include "lockstep/models/layers/layer_checks.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {

std::vector<int> axes_of(std::string_view layer, const std::vector<int>& axes, const Shape& input) {
  std::vector<int> numbers;
  for (const int axis : axes) numbers.push_back(axis < 0 ? axis + input.rank() + 1 : axis);
  std::ranges::sort(numbers);
  require(!numbers.empty() && numbers.front() >= 1 && numbers.back() <= input.rank() &&
              std::ranges::adjacent_find(numbers) == numbers.end(),
          "{} needs different axes behind the batch axis, got ({}) for {}", layer, fmt::join(axes, ", "), input);
  return numbers;
}

Tensor with_logits(Activation activation, const Tensor& logits) {
  return activation == Activation::softmax ? softmax(logits) : sigmoid(logits);
}

Tensor penalized(const LayerCall& call, const Regularizer& activity_regularizer, const Tensor& result) {
  // A recomputed block must record the same ops as in its first call, even if nothing collects the losses any more.
  const bool is_needed = AddedLosses::are_collected() || recording({result});
  if (activity_regularizer && is_needed && call.penalizes_result)
    AddedLosses::add(activity_regularizer(cast(result, DType::f32)) /
                     static_cast<double>(std::max<std::int64_t>(1, result.dim(0))));
  return result;
}

}  // namespace lockstep
