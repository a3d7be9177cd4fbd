#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <support/pretend_gpu/pretend_cuda.h>

#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/registry.h>

// When a GPU refuses an op's kernel or copy, forward or backward, the error names the op.

namespace lockstep::test {
namespace {

/// The op with this number.
class OpOnAGpuThatFails : public testing::TestWithParam<std::size_t> {
 protected:
  OpOnAGpuThatFails() {
    for (const Tensor& input : op_.inputs) inputs_.push_back(to_device(input, gpu_));
  }

  /// All of the first pieces of work, later fewer and fewer: an op of many steps repeats its work in each.
  static std::int64_t next_to_fail(std::int64_t piece) { return piece + 1 + piece / 16; }

  /// The error of compute() when its piece of work number `first` fails; empty when it has fewer pieces.
  template <class Compute>
  std::string error_at(std::int64_t first, const Compute& compute) const {
    pretend_cuda()->fail_work(gpu_.index, first);
    std::string error;
    try {
      compute();
    } catch (const DeviceError& thrown) {
      error = thrown.what();
    }
    pretend_cuda()->fail_work(gpu_.index, 0);
    return error;
  }

  const OpCase& op_ = small_op_cases()[GetParam()];
  const LogicalDevice gpu_ = logical_gpus(1).front();
  const ContextScope there_{{.device = gpu_}};
  std::vector<Tensor> inputs_;
};

/// "conv2d: a kernel's launch failed on GPU:0: invalid ..."; for ops that call others, the error names these, too.
TEST_P(OpOnAGpuThatFails, IsNamed) {
  for (std::int64_t first = 1;; first = next_to_fail(first)) {
    Tensor y;
    const std::string error = error_at(first, [&] { y = op_.run(inputs_); });
    if (error.empty()) {
      EXPECT_TRUE(first > 1 || op_.is_view || y.elements() == 0) << "it launches nothing";
      break;
    }
    EXPECT_THAT(error, testing::StartsWith(op_.function() + ": "));
    EXPECT_THAT(error, testing::HasSubstr(" failed on GPU:0: invalid configuration argument"));
  }
}

TEST_P(OpOnAGpuThatFails, IsNamedInBackward) {
  if (!op_.has_gradient()) return;
  for (std::int64_t first = 1;; first = next_to_fail(first)) {
    GradientTape tape;
    for (const Tensor& input : inputs_) tape.watch(input);
    const Tensor y = op_.run(inputs_);
    const std::string error = error_at(first, [&] { tape.gradient(y, inputs_); });
    if (error.empty()) {
      EXPECT_GT(first, 1) << "it launches nothing";
      break;
    }
    EXPECT_THAT(error, testing::ContainsRegex("^gradient of (the target|[a-z0-9_]+): "));
    EXPECT_THAT(error, testing::HasSubstr(" failed on GPU:0: invalid configuration argument"));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpOnAGpuThatFails, testing::Range<std::size_t>(0, small_op_cases().size()),
                         [](const auto& info) { return test_name(small_op_cases(), info.param); });

}  // namespace
}  // namespace lockstep::test
