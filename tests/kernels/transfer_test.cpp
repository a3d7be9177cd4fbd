#include <array>
#include <functional>

#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/thread/device_scope.h>

namespace lockstep::test {
namespace {

const LogicalDevice there{.kind = DeviceKind::cpu, .index = 1, .cores = available_cores()};

std::size_t bytes_on(const LogicalDevice& device) { return allocator(device).stats().bytes_in_use; }

TEST(ToDevice, CopiesElementsOfAnyDtypeAndLayout) {
  const Tensor x = random_tensor({3, 4}, 1);
  const Tensor y = to_device(x, there);
  EXPECT_EQ(y.device().name(), "CPU:1");
  EXPECT_NE(y.raw_data(), x.raw_data());
  expect_same_bits(y, x);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{3, 1, 2}, {3});
  expect_same_bits(to_device(labels, there), labels);
  const Tensor strided = strided_copy(x);
  EXPECT_TRUE(to_device(strided, there).is_dense());
  expect_same_bits(to_device(strided, there), x);
}

TEST(ToDevice, LeavesWhatIsThere) {
  const Tensor x = random_tensor({3, 4}, 1);
  EXPECT_EQ(to_device(x, x.device()).id(), x.id());
  EXPECT_ERROR(InvalidArgument, "takes a tensor", to_device(Tensor(), there));
}

TEST(ToDevice, CopiesTheGradientBack) {
  const Tensor x = random_tensor({3, 4}, 1);
  GradientTape tape;
  tape.watch(x);
  const Tensor moved = to_device(x, there);
  const Tensor gradient = tape.gradient(sum(square(moved)), std::array{x})[0];
  EXPECT_EQ(gradient.device().name(), "CPU:0");
  expect_same_bits(gradient, multiply(x, 2));
}

struct Results {
  Tensor y;
  std::vector<Tensor> gradients;
};

Results results_of(const OpCase& op, const std::function<Tensor()>& call) {
  GradientTape tape;
  for (const Tensor& input : op.inputs) tape.watch(input);
  const Tensor y = call();
  if (!op.has_gradient()) return {y, std::vector<Tensor>(op.inputs.size())};
  return {y, tape.gradient(sum(square(y)), op.inputs)};
}

TEST(OpsInADeviceScope, ReadFromElsewhereComputeThereAndGiveGradientsBack) {
  for (const OpCase& op : small_op_cases()) {
    SCOPED_TRACE(op.name);
    const Results here = results_of(op, [&] { return op.run(op.inputs); });
    const Results placed = results_of(op, [&] { return with_device(there, [&] { return op.run(op.inputs); }); });
    EXPECT_EQ(here.y.device().name(), "CPU:0");
    EXPECT_EQ(placed.y.device().name(), op.is_view ? "CPU:0" : "CPU:1");
    expect_same_wherever(op, placed.y, here.y);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!here.gradients[i].defined()) continue;
      EXPECT_EQ(placed.gradients[i].device().name(), "CPU:0") << "input " << i;
      expect_same_wherever(op, placed.gradients[i], here.gradients[i]);
    }
  }
}

TEST(OpsInADeviceScope, KeepWhatTheirGradientsNeedOnTheirDevice) {
  const Tensor x = random_tensor({1000}, 1);
  const Tensor on_device = to_device(x, there);
  const std::size_t here_before = bytes_on(x.device());
  const std::size_t there_before = bytes_on(there);
  GradientTape tape;
  tape.watch(on_device);
  const Tensor y = with_device(there, [&] { return square(square(on_device)); });
  EXPECT_EQ(bytes_on(x.device()), here_before);
  EXPECT_GE(bytes_on(there), there_before + 2 * 1000 * sizeof(float));
  const Tensor gradient = tape.gradient(with_device(there, [&] { return sum(y); }), std::array{on_device})[0];
  EXPECT_EQ(gradient.device().name(), "CPU:1") << "computed where the op was, though asked for from elsewhere";
}

TEST(OpsOutsideOfDeviceScopes, CopyNothing) {
  const Tensor x = to_device(random_tensor({1000}, 1), there);
  const std::size_t block = allocator({}).allocate(1000 * sizeof(float))->bytes();
  const std::size_t before = bytes_on({});
  const Tensor y = square(x);
  EXPECT_EQ(y.device().name(), "CPU:0");
  EXPECT_EQ(bytes_on({}), before + block) << "the result and nothing else";
}

TEST(OpsInADeviceScope, OneTensorReadOnTwoDevicesHasTheSumOfBothGradients) {
  const Tensor x = random_tensor({50}, 1);
  GradientTape tape;
  tape.watch(x);
  const Tensor a = with_device("CPU:1", [&] { return square(x); });
  const Tensor b = with_device("CPU:2", [&] { return multiply(x, 3); });
  const Tensor gradient = tape.gradient(sum(add(a, b)), std::array{x})[0];
  std::vector<double> expected = x.to_vector<double>();
  for (double& value : expected) value = 2 * value + 3;
  expect_close(gradient, expected);
}

}  // namespace
}  // namespace lockstep::test
