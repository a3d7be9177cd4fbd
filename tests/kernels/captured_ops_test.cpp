#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/gpu_capture.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/memory_pool.h>

// Ops that no layer uses, captured in a CUDA graph: each launch must compute with the current inputs. Layers' ops:
// models/training/cuda_graphs_test.cpp.

namespace lockstep::test {
namespace {

const std::vector<OpCase>& ops() {
  static const auto& chosen = *new std::vector([] {
    const std::set<std::string> functions{"sort",   "top_k", "cumsum", "matmul",  "flip",    "tril",
                                          "argmax", "any",   "isinf",  "one_hot", "shuffle", "categorical"};
    std::vector<OpCase> all = small_op_cases();
    std::erase_if(all, [&](const OpCase& op) { return !functions.contains(op.function()); });
    return all;
  }());
  return chosen;
}

/// The result, then the gradients of the inputs if it has them.
std::vector<Tensor> results_of(const OpCase& op, const std::vector<Tensor>& inputs) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  std::vector<Tensor> results{op.run(inputs)};
  if (!op.has_gradient()) return results;
  for (const Tensor& gradient : tape.gradient(sum(square(results[0])), inputs)) results.push_back(gradient);
  return results;
}

/// The op with this number, on a pretended GPU.
class CapturedOp : public testing::TestWithParam<std::size_t> {
 protected:
  const OpCase& op_ = ops()[GetParam()];
  const LogicalDevice gpu_ = logical_gpus(1).front();
  const ContextScope there_{context_on(gpu_)};
};

TEST_P(CapturedOp, ComputesFromWhatIsThereAtEachLaunch) {
  std::vector<Tensor> inputs;
  for (const Tensor& input : op_.inputs) inputs.push_back(to_device(input, gpu_));
  const MemoryPool pool(gpu_);
  std::vector<Tensor> results;
  CapturedWork work;
  {
    const MemoryPoolScope apart(pool);
    for (int warm_up = 0; warm_up < 2; ++warm_up) results_of(op_, inputs);  // allocates the memory
    GpuCapture capture(gpu_);
    results = results_of(op_, inputs);
    work = capture.take();
  }
  for (int launch = 0; launch < 2; ++launch) {
    for (const Tensor& input : inputs)  // also changes the order of the values
      assign(is_real(input.dtype()) ? input * -0.75 + 0.9 : flip(input), input);
    work.launch();
    const std::vector<Tensor> expected = results_of(op_, inputs);
    for (std::size_t i = 0; i < results.size(); ++i) expect_same_bits(results[i], expected[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CapturedOp, testing::Range<std::size_t>(0, ops().size()),
                         [](const auto& info) { return test_name(ops(), info.param); });

}  // namespace
}  // namespace lockstep::test
