#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <support/devices.h>
#include <support/pretend_gpu/platform.h>

#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/registry.h>

// An op of which a GPU does not take a launch is named, forward and backward.

namespace lockstep::test {
namespace {

PretendGpuPlatform& platform() {
  static PretendGpuPlatform& installed = install_pretended_gpus(1);
  return installed;
}

/// By the op's number.
class OpOnAGpuThatFails : public testing::TestWithParam<std::size_t> {
 protected:
  /// On the one machine of all tests.
  OpOnAGpuThatFails() : gpu_((platform(), logical_gpus(1).front())), there_({.device = gpu_}) {
    for (const Tensor& input : op_.inputs) inputs_.push_back(to_device(input, gpu_));
  }

  /// The error of compute() when launch number `first` fails; empty when there are fewer.
  template <class Compute>
  std::string error_at(std::int64_t first, const Compute& compute) const {
    platform().fail_launch(gpu_, first);
    std::string error;
    try {
      compute();
    } catch (const DeviceError& thrown) {
      error = thrown.what();
    }
    platform().fail_launch(gpu_, 0);
    return error;
  }

  const OpCase& op_ = small_op_cases()[GetParam()];
  const LogicalDevice gpu_;
  const ContextScope there_;
  std::vector<Tensor> inputs_;
};

/// "conv2d: a kernel's launch failed on GPU:0: ..."; ops that call others name these, too.
TEST_P(OpOnAGpuThatFails, IsNamed) {
  for (std::int64_t first = 1;; ++first) {
    Tensor y;
    const std::string error = error_at(first, [&] { y = op_.run(inputs_); });
    if (error.empty()) {
      EXPECT_TRUE(first > 1 || op_.is_view || y.elements() == 0) << "it launches nothing";
      break;
    }
    EXPECT_THAT(error, testing::StartsWith(op_.function() + ": "));
    EXPECT_THAT(error, testing::HasSubstr(": a kernel's launch failed on GPU:0: "));
  }
}

TEST_P(OpOnAGpuThatFails, IsNamedInBackward) {
  for (std::int64_t first = 1;; ++first) {
    GradientTape tape;
    for (const Tensor& input : inputs_) tape.watch(input);
    const Tensor y = op_.run(inputs_);
    const std::string error = error_at(first, [&] { tape.gradient(y, inputs_); });
    if (error.empty()) {
      EXPECT_GT(first, 1) << "it launches nothing";
      break;
    }
    EXPECT_THAT(error, testing::ContainsRegex("^gradient of (the target|[a-z0-9_]+): "));
    EXPECT_THAT(error, testing::HasSubstr(": a kernel's launch failed on GPU:0: "));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpOnAGpuThatFails, testing::Range<std::size_t>(0, small_op_cases().size()),
                         [](const auto& info) { return test_name(small_op_cases(), info.param); });

}  // namespace
}  // namespace lockstep::test
