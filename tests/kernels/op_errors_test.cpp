#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <support/devices.h>

#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/memory/allocator.h>

// When an op's device runs out of memory, forward or backward, the error names the op. Other device failures:
// launch_errors_test.cpp.

namespace lockstep::test {
namespace {

/// Granularity of allocations.
constexpr std::size_t block = 512;

/// Runs an op on a separate device, whose memory is limited to slightly more than is in use.
class OpWithoutMemory : public testing::TestWithParam<std::size_t> {
 protected:
  OpWithoutMemory() : there_({.device = devices(7).back()}) {
    for (const Tensor& input : op_.inputs) inputs_.push_back(to_device(input, current_context().device));
  }
  ~OpWithoutMemory() override { memory().set_memory_limit(0); }

  static CachingAllocator& memory() { return allocator(current_context().device); }

  /// The error of compute() with `blocks` more blocks of memory than are in use; empty if it needs no more.
  template <class Compute>
  std::string error_with(std::size_t blocks, const Compute& compute) const {
    memory().set_memory_limit(memory().stats().bytes_in_use + blocks * block);
    std::string error;
    try {
      compute();
    } catch (const OutOfMemory& thrown) {
      error = thrown.what();
    }
    memory().set_memory_limit(0);
    return error;
  }

  const OpCase& op_ = small_op_cases()[GetParam()];
  const ContextScope there_;
  const Tensor in_use_ = Tensor::zeros({});  // a limit of 0 bytes would stand for no limit
  std::vector<Tensor> inputs_;
};

/// "conv2d: a tensor of f32 (2, 4, 4, 3): CPU:6 has no room for ..."; for ops that call others, the error names these,
/// too.
TEST_P(OpWithoutMemory, IsNamed) {
  for (std::size_t blocks = 0;; ++blocks) {
    Tensor y;
    const std::string error = error_with(blocks, [&] { y = op_.run(inputs_); });
    if (error.empty()) {
      EXPECT_TRUE(blocks > 0 || op_.is_view || y.elements() == 0) << "it takes no memory";
      break;
    }
    EXPECT_THAT(error, testing::StartsWith(op_.function() + ": "));
    EXPECT_THAT(error, testing::HasSubstr(": a tensor of "));
    EXPECT_THAT(error, testing::HasSubstr(": " + current_context().device.name() + " has no room for "));
  }
}

TEST_P(OpWithoutMemory, IsNamedInBackward) {
  if (!op_.has_gradient()) return;
  for (std::size_t blocks = 0;; ++blocks) {
    GradientTape tape;
    for (const Tensor& input : inputs_) tape.watch(input);
    const Tensor y = op_.run(inputs_);
    const std::string error = error_with(blocks, [&] { tape.gradient(y, inputs_); });
    if (error.empty()) {
      EXPECT_GT(blocks, 0U) << "it takes no memory";
      break;
    }
    EXPECT_THAT(error, testing::ContainsRegex("^gradient of (the target|[a-z0-9_]+): .*a tensor of "));
    EXPECT_THAT(error, testing::HasSubstr(": " + current_context().device.name() + " has no room for "));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpWithoutMemory, testing::Range<std::size_t>(0, small_op_cases().size()),
                         [](const auto& info) { return test_name(small_op_cases(), info.param); });

}  // namespace
}  // namespace lockstep::test
