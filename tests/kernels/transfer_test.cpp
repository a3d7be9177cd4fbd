#include <array>
#include <functional>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/ops/array.h>
#include <lockstep/kernels/ops/batch_norm.h>
#include <lockstep/kernels/ops/conv2d.h>
#include <lockstep/kernels/ops/cross_entropy.h>
#include <lockstep/kernels/ops/dense.h>
#include <lockstep/kernels/ops/dropout.h>
#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/gru.h>
#include <lockstep/kernels/ops/layer_norm.h>
#include <lockstep/kernels/ops/lstm.h>
#include <lockstep/kernels/ops/pool2d.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/kernels/ops/transfer.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/registry.h>
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

/// An op on f32 inputs, which must be differentiable in the first.
struct Op {
  const char* name;
  std::vector<Tensor> inputs;
  std::function<Tensor(std::span<const Tensor>)> run;
};

std::vector<Op> ops() {
  const Tensor x = random_tensor({4, 6}, 1, 0.2, 0.8);
  const Tensor y = random_tensor({4, 6}, 2, 0.2, 0.8);
  const Tensor kernel = random_tensor({6, 5}, 3);
  const Tensor bias = random_tensor({5}, 4);
  const Tensor image = random_tensor({2, 4, 4, 3}, 5);
  const Tensor filters = random_tensor({3, 3, 3, 2}, 6);
  const auto channels = [](unsigned seed) { return random_tensor({6}, seed, 0.5, 1.5); };
  const Tensor sequence = random_tensor({2, 3, 6}, 8);
  const Tensor gates = random_tensor({6, 8}, 9);
  const Tensor recurrent = random_tensor({2, 8}, 10);
  const Tensor gate_bias = random_tensor({8}, 11);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{3, 1, 2, 0}, {4});
  using In = std::span<const Tensor>;
  return {
      {"add", {x, y}, [](In in) { return in[0] + in[1]; }},
      {"multiply", {x, y}, [](In in) { return in[0] * in[1]; }},
      {"divide", {x, y}, [](In in) { return in[0] / in[1]; }},
      {"add number", {x}, [](In in) { return in[0] + 2.0; }},
      {"multiply number", {x}, [](In in) { return in[0] * 2.0; }},
      {"tanh", {x}, [](In in) { return tanh(in[0]); }},
      {"cast", {x}, [](In in) { return cast(cast(in[0], DType::bf16), DType::f32); }},
      {"sum", {x}, [](In in) { return sum(in[0], {1}); }},
      {"mean", {x}, [](In in) { return mean(in[0], {0}); }},
      {"concat", {x, y}, [](In in) { return concat(in, 1); }},
      {"dense_copy", {x}, [](In in) { return dense_copy(in[0]); }},
      {"dense", {x, kernel, bias}, [](In in) { return dense(in[0], in[1], in[2], Activation::tanh); }},
      {"conv2d", {image, filters}, [](In in) { return conv2d(in[0], in[1], {}, {}); }},
      {"max_pool2d",
       {image},
       [](In in) {
         return max_pool2d(in[0], {.window = {2, 2}, .strides = {2, 2}});
       }},
      {"batch_norm", {x, channels(12), channels(13)}, [](In in) { return batch_norm(in[0], in[1], in[2]).y; }},
      {"batch_norm_inference",
       {x, channels(12), channels(13), channels(14), channels(15)},
       [](In in) { return batch_norm_inference(in[0], in[1], in[2], in[3], in[4]); }},
      {"dropout", {x}, [](In in) { return dropout(in[0], 0.5F, {.seed = 1}); }},
      {"softmax", {x}, [](In in) { return softmax(in[0]); }},
      {"sparse_softmax_cross_entropy", {x}, [=](In in) { return sparse_softmax_cross_entropy(in[0], labels); }},
      {"binary_cross_entropy", {x}, [=](In in) { return binary_cross_entropy(in[0], y); }},
      {"log_softmax", {x}, [](In in) { return log_softmax(in[0]); }},
      {"gelu", {x}, [](In in) { return gelu(in[0]); }},
      {"add_n", {x, y}, [](In in) { return add_n(in); }},
      {"zero_pad2d",
       {image},
       [](In in) {
         return zero_pad2d(in[0], {1, 2, 0, 1});
       }},
      {"depthwise_conv2d", {image, filters}, [](In in) { return depthwise_conv2d(in[0], in[1], {}); }},
      {"layer_norm", {x, channels(12), channels(13)}, [](In in) { return layer_norm(in[0], in[1], in[2]); }},
      {"gru",
       {sequence, random_tensor({6, 9}, 16), random_tensor({3, 9}, 17), random_tensor({2, 9}, 18)},
       [](In in) { return gru(in[0], in[1], in[2], in[3]); }},
      {"lstm", {sequence, gates, recurrent, gate_bias}, [](In in) { return lstm(in[0], in[1], in[2], in[3]); }},
  };
}

struct Results {
  Tensor y;
  std::vector<Tensor> gradients;
};

Results results_of(const Op& op, const std::function<Tensor()>& call) {
  GradientTape tape;
  for (const Tensor& input : op.inputs) tape.watch(input);
  const Tensor y = call();
  return {y, tape.gradient(sum(square(y)), op.inputs)};
}

TEST(OpsInADeviceScope, ReadFromElsewhereComputeThereAndGiveGradientsBack) {
  for (const Op& op : ops()) {
    SCOPED_TRACE(op.name);
    const Results here = results_of(op, [&] { return op.run(op.inputs); });
    const Results placed = results_of(op, [&] { return with_device(there, [&] { return op.run(op.inputs); }); });
    EXPECT_EQ(here.y.device().name(), "CPU:0");
    EXPECT_EQ(placed.y.device().name(), "CPU:1");
    expect_same_bits(placed.y, here.y);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!here.gradients[i].defined()) continue;
      EXPECT_EQ(placed.gradients[i].device().name(), "CPU:0") << "input " << i;
      expect_same_bits(placed.gradients[i], here.gradients[i]);
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

TEST(OpsInADeviceScope, ViewsStayWhereTheyAre) {
  const Tensor x = random_tensor({6, 4}, 1);
  const DeviceScope scope(there);
  EXPECT_EQ(slice(x, 0, 1, 3).device().name(), "CPU:0");
  EXPECT_EQ(reshape(x, {24}).device().name(), "CPU:0");
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
