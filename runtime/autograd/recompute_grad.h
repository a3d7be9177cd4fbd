#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace lockstep {

/// Calls `first`. The thread's recording tapes do not keep the tensors of the ops that `first` runs. Before a tape
/// differentiates these ops, it calls `again`, which must run the same ops on the same tensors. If calls are nested, a
/// tape that records the outer call treats the inner call's ops as ops of the outer call.
void record_recomputed(const std::function<void()>& first, const std::function<void()>& again);
/// Whether record_recomputed would keep `again`. False if no tape records, or if every recording tape is already inside
/// a call of record_recomputed.
bool records_recomputed();

/// Returns a function that calls `function` and saves memory while tapes record, like TensorFlow's tf.recompute_grad,
/// Keras' keras.remat and PyTorch's torch.utils.checkpoint. A tape keeps only copies of `function` and of the
/// arguments, such as handles to tensors. It calls `function` again before it differentiates the ops of `function`. The
/// gradients, including the gradients of variables and tensors that `function` captures, are bit-identical to gradients
/// without recompute_grad. Second-order gradients are supported; they may differ in rounding.
///
/// `function` must not return void, and must run the same ops each time. Objects that it refers to must exist, with
/// unchanged values, until the gradients have been computed. A repeated call gets the same random numbers and the same
/// states of stateful layers as the first call, and layers do not update statistics or states again. Other side effects
/// happen again. Computing the gradients throws LogicError if a repeated call runs other ops.
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
