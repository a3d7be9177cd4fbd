// Checks of the library itself: its fallback kernels, and the order of destruction at the program's end.

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/reduction/reduce_op.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

#include "array.h"
#include "check.h"

namespace lockstep::smoke {
namespace {

/// Output of a dense layer on the current device; x has the shape (32, in).
template <class T>
std::vector<double> dense(std::int64_t in, std::int64_t units, Activation activation) {
  const Tensor x = Tensor::from(eighths<T>(32 * in, 1), {32, in});
  const Tensor kernel = Tensor::from(eighths<T>(in * units, 2), {in, units});
  const Tensor bias = Tensor::from(eighths<float>(units, 3), {units});
  const Tensor y = Tensor::empty({32, units}, x.dtype());
  launch(kernels::Dense{x, kernel, bias, activation, y});
  return y.to_vector<double>();
}

/// Compares the GPU's dense layer with the CPU's; both are exact but for the last rounding.
template <class T>
std::string see_dense(std::int64_t in, std::int64_t units, Activation activation) {
  const std::vector<double> found = dense<T>(in, units, activation);
  const ContextScope host(context_on({}));
  return compared(found, dense<T>(in, units, activation), rounding<T>);
}

template <class T>
std::string see_dense_of_each_kind() {
  return fmt::format("one unit: {}; with relu: {}; sums of 16384: {}", see_dense<T>(256, 1, Activation::linear),
                     see_dense<T>(256, 96, Activation::relu), see_dense<T>(16384, 64, Activation::linear));
}

/// Leaves a strategy to static destruction; if a destructor fails, so does the process.
std::string see_strategy_in_static_storage() {
  static const MirroredStrategy strategy(logical_gpus(1), {.cross_device_ops = CrossDeviceOps::nccl});
  static Tensor kept;
  strategy.run([] { kept = get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({1000}, 2)); });
  return compared(kept.to_vector<double>(), std::vector<double>(1000, 2), 0) + "; the program ends well";
}

}  // namespace

std::vector<Check> library_checks() {
  return {{"library_dense_f32", see_dense_of_each_kind<float>},
          {"library_dense_bf16", see_dense_of_each_kind<bfloat16>},
          {"library_strategy_in_static_storage", see_strategy_in_static_storage}};
}

}  // namespace lockstep::smoke
