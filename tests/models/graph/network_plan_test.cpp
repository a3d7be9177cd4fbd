// The optimizations in a network's plan must not change its results.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/memory/allocator.h>

namespace lockstep::test {
namespace {

/// Multiplies by 1 into new memory, and records its input's address.
class Probe final : public LayerImpl {
 public:
  explicit Probe(std::vector<const void*>& seen) : LayerImpl("probe"), seen_(seen) {}
  std::string_view class_name() const override { return "Probe"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    seen_.push_back(inputs[0].raw_data());
    return multiply(inputs[0], 1.0);
  }

 private:
  std::vector<const void*>& seen_;
};

/// A pooling with a window of one element that records its output's address.
class Writer final : public LayerImpl {
 public:
  Writer(std::string name, std::vector<const void*>& destinations)
      : LayerImpl(std::move(name), {.can_write_to = true}), destinations_(destinations) {}
  std::string_view class_name() const override { return "Writer"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    destinations_.push_back(call.out.defined() ? call.out.raw_data() : nullptr);
    return max_pool2d(inputs[0], {.window = {1, 1}, .strides = Size2d{1, 1}, .out = call.out});
  }

 private:
  std::vector<const void*>& destinations_;
};

TEST(NetworkPlan, AConcatenationOfResultsWrittenInPlaceCopiesNothing) {
  std::vector<const void*> destinations;
  std::vector<const void*> seen;
  const Symbol x = Input({4, 4, 3});
  const Symbol left = Layer(std::make_shared<Writer>("left", destinations))(x);
  const Symbol right = Layer(std::make_shared<Writer>("right", destinations))(x);
  const Network network(x, Layer(std::make_shared<Probe>(seen))(Concatenate()({left, right})), 0);
  const Tensor batch = random_tensor({2, 4, 4, 3}, 1);

  for (const Mode mode : {Mode::inference, Mode::train}) {
    destinations.clear();
    seen.clear();
    const Tensor y = network(batch, mode);
    expect_same_bits(y.slice_view(-1, 0, 3), batch);
    expect_same_bits(y.slice_view(-1, 3, 6), batch);
    ASSERT_EQ(destinations.size(), 2U);
    EXPECT_EQ(seen, std::vector{destinations[0]});
    EXPECT_EQ(destinations[1], static_cast<const float*>(destinations[0]) + 3);
  }
}

/// The layers of an inception module followed by a downsampling module, small.
struct Modules {
  Modules() {
    const Symbol x = Input({9, 9, 3});
    const auto normalized = [](const Symbol& s, std::int64_t filters, std::int64_t size, Padding padding) {
      const Symbol y = Conv2D({.filters = filters, .kernel_size = {size, size}, .padding = padding})(s);
      return ActivationLayer(Activation::relu)(BatchNormalization({.momentum = 0.5})(y));
    };
    const Symbol a = normalized(x, 4, 1, Padding::same);
    const Symbol b = normalized(x, 6, 3, Padding::same);
    const Symbol joined = Concatenate()({a, b});
    const Symbol c = normalized(joined, 5, 3, Padding::valid);
    const Symbol d = MaxPooling2D({.pool_size = {3, 3}, .strides = Size2d{1, 1}})(joined);
    network.emplace_back(x, Concatenate()({c, d}), 3);
  }

  /// The same computation with ops, each of which allocates its result.
  Tensor by_ops(const Tensor& x, Mode mode) const {
    const auto normalized = [&](const Tensor& s, int first, Padding padding) {
      const std::vector<Variable> w = network[0].variables();
      const Tensor y = conv2d(s, w[first].value(), w[first + 1].value(), {.padding = padding});
      const Tensor gamma = w[first + 2].value();
      const Tensor beta = w[first + 3].value();
      return relu(mode == Mode::train
                      ? batch_norm(y, gamma, beta).y
                      : batch_norm_inference(y, gamma, beta, w[first + 4].value(), w[first + 5].value()));
    };
    const Tensor a = normalized(x, 0, Padding::same);
    const Tensor b = normalized(x, 6, Padding::same);
    const Tensor joined = concatenate(std::vector{a, b}, -1);
    const Tensor c = normalized(joined, 12, Padding::valid);
    const Tensor d = max_pool2d(joined, {.window = {3, 3}, .strides = Size2d{1, 1}});
    return concatenate(std::vector{c, d}, -1);
  }

  std::vector<Network> network;  ///< one element, created in the constructor's body
};

TEST(NetworkPlan, GivesTheBitsOfPlainOpsAtInference) {
  const Modules modules;
  const Tensor x = random_tensor({2, 9, 9, 3}, 1);
  modules.network[0](x, Mode::train);  // so that no moving statistic is still 0 or 1
  expect_same_bits(modules.network[0](x, Mode::inference), modules.by_ops(x, Mode::inference));
}

TEST(NetworkPlan, GivesTheBitsOfPlainOpsInTraining) {
  const Modules modules;
  const Tensor x = random_tensor({2, 9, 9, 3}, 1);
  std::vector<Tensor> parameters;
  for (const Variable& variable : modules.network[0].trainable_variables()) parameters.push_back(variable.value());
  GradientTape planned;
  const Tensor y = modules.network[0](x, Mode::train);
  const Tensor weights = random_tensor(y.shape(), 2);
  const std::vector<Tensor> gradients = planned.gradient(sum(multiply(y, weights)), parameters);
  GradientTape plain;
  const Tensor expected = modules.by_ops(x, Mode::train);
  const std::vector<Tensor> expected_gradients = plain.gradient(sum(multiply(expected, weights)), parameters);

  expect_same_bits(y, expected);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    ASSERT_TRUE(gradients[i].defined());
    expect_same_bits(gradients[i], expected_gradients[i]);
  }
}

TEST(NetworkPlan, InferenceHoldsOnlyWhatIsStillNeeded) {
  const Symbol x = Input({1 << 18});
  Symbol y = x;
  constexpr int layers = 8;
  for (int layer = 0; layer < layers; ++layer) y = ActivationLayer(Activation::tanh)(y);
  const Network network(x, y, 0);
  const Tensor batch = Tensor::full({1, 1 << 18}, 0.5);
  CachingAllocator& memory = allocator(batch.device());
  const std::size_t before = memory.stats().bytes_in_use;
  memory.reset_peak();
  network(batch, Mode::inference);
  // One layer's input and its result; blocks may be up to twice as large as requested.
  EXPECT_LE(memory.stats().bytes_peak - before, 2 * 2 * sizeof(float) << 18);
  EXPECT_EQ(memory.stats().bytes_in_use, before);
}

}  // namespace
}  // namespace lockstep::test
