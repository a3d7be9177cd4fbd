#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace lockstep {

/// Calls `first`. The thread's open tapes do not keep the tensors of the ops that it runs; before a tape differentiates
/// these ops, it calls `again`, which must run the same ops on the same tensors. Inside another call of this function,
/// and if no tape records, only calls `first`.
void record_recomputed(const std::function<void()>& first, const std::function<void()>& again);
/// Whether record_recomputed keeps `again`.
bool records_recomputed();

/// TensorFlow's tf.recompute_grad, Keras' keras.remat and PyTorch's torch.utils.checkpoint: a function that calls
/// `function`, whose result is not void, and saves memory while tapes record. A tape keeps only copies of `function`
/// and of its arguments, such as handles to tensors, and calls `function` again before it differentiates its ops. The
/// gradients have the same bits as without recompute_grad, also those of variables and tensors that `function`
/// captures. Second-order gradients are supported; they may differ in rounding.
///
/// `function` must run the same ops each time, and what it refers to must exist, with unchanged values, until the
/// gradients have been computed. When it is called again, random numbers and the states of stateful layers are those of
/// the first call, and layers update neither statistics nor states; other side effects happen twice.
/// GradientTape::gradient and `backward` throw LogicError if the second call runs other ops.
template <class Function>
auto recompute_grad(Function function) {
  return [function = std::move(function)](const auto&... inputs) {
    std::optional<std::decay_t<std::invoke_result_t<const Function&, decltype(inputs)...>>> result;
    record_recomputed([&] { result.emplace(function(inputs...)); },
                      [function, inputs...] { static_cast<void>(function(inputs...)); });
    return *std::move(result);
  };
}

}  // namespace lockstep
