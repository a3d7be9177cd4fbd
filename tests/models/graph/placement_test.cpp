#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/thread/device_scope.h>

// Model parallelism by placement: with_device around layers of the functional API.

namespace lockstep::test {
namespace {

constexpr std::int64_t rows = 3;

/// Two sequences of 140 steps with 256 features, each encoded by the same LSTM on a device of its own, concatenated on
/// the first CPU.
Network two_sequences(const std::string& device_a, const std::string& device_b) {
  const Symbol a = Input({140, 256}, "sequence_a");
  const Symbol b = Input({140, 256}, "sequence_b");
  const LSTM shared({.units = 64});
  const Symbol encoded_a = with_device(device_a, [&] { return shared(a); });
  const Symbol encoded_b = with_device(device_b, [&] { return shared(b); });
  const Symbol merged = with_device("/cpu:0", [&] { return Concatenate()({encoded_a, encoded_b}); });
  return {{a, b}, Dense({.units = 1, .activation = Activation::sigmoid})(merged), 7};
}

struct Sequences {
  std::vector<Tensor> x{random_tensor({rows, 140, 256}, 1), random_tensor({rows, 140, 256}, 2)};
  Tensor y = Tensor::from(std::vector<float>{0, 1, 1}, {rows, 1});
};

Tensor loss_of(const Network& network, const Sequences& data) {
  return mean(binary_cross_entropy(network(data.x, Mode::train), data.y));
}

struct Step {
  Tensor output, loss;
  std::vector<Tensor> gradients;
};

Step step_of(const Network& network) {
  const Sequences data;
  std::vector<Tensor> weights;
  for (const Variable& variable : network.trainable_variables()) weights.push_back(variable.value());
  GradientTape tape;
  const Tensor loss = loss_of(network, data);
  return {network(data.x, Mode::inference), loss, tape.gradient(loss, weights)};
}

// All devices run the same kernels and add the shared weights' gradients in the same order: all bits must be equal.
TEST(Placement, ASharedLstmOnTwoDevicesGivesTheNumbersOfOne) {
  const Step one = step_of(two_sequences("CPU:0", "CPU:0"));
  for (const auto& [a, b] : {std::pair("CPU:0", "CPU:1"), std::pair("CPU:1", "CPU:2"), std::pair("CPU:2", "CPU:0")}) {
    SCOPED_TRACE(std::string(a) + " " + b);
    const Step two = step_of(two_sequences(a, b));
    EXPECT_EQ(two.output.device().name(), "CPU:0");
    expect_same_bits(two.output, one.output);
    expect_same_bits(two.loss, one.loss);
    ASSERT_EQ(two.gradients.size(), 5U);
    for (std::size_t i = 0; i < two.gradients.size(); ++i) expect_same_bits(two.gradients[i], one.gradients[i]);
  }
}

TEST(Placement, ALayerKeepsItsWeightsWhereItWasFirstCalled) {
  const Network network = two_sequences("CPU:2", "CPU:1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(network.variables()[i].value().device().name(), "CPU:2");
  EXPECT_EQ(network.variables()[3].value().device().name(), "CPU:0") << "the Dense, which nobody placed";
}

TEST(Placement, EachDeviceHoldsWhatItsLayersMake) {
  const Network network = two_sequences("CPU:1", "CPU:2");
  const Sequences data;
  for (const int index : {1, 2}) allocator({DeviceKind::cpu, index}).reset_peak();
  const auto in_use = [](int index) { return allocator({DeviceKind::cpu, index}).stats().bytes_in_use; };
  const std::size_t before[] = {in_use(1), in_use(2)};
  network(data.x, Mode::inference);
  // Each device has a copy of its sequence and the gates of all steps; all of that memory must be freed.
  const std::size_t least = rows * 140 * (256 + 4 * 64) * sizeof(float);
  for (const int index : {1, 2}) {
    EXPECT_GE(allocator({DeviceKind::cpu, index}).stats().bytes_peak, before[index - 1] + least) << index;
    EXPECT_EQ(in_use(index), before[index - 1]) << index;
  }
}

TEST(Placement, TrainingKeepsWeightsWhereTheyAreAndGivesTheNumbersOfOneDevice) {
  const auto train = [](const Network& network) {
    const Sequences data;
    const SGD optimizer({.learning_rate = 0.1, .momentum = 0.9});
    std::vector<Tensor> losses;
    for (int step = 0; step < 3; ++step) {
      GradientTape tape;
      losses.push_back(loss_of(network, data));
      optimizer.minimize(tape, losses.back(), network.trainable_variables());
    }
    EXPECT_LT(losses.back().item<float>(), losses.front().item<float>());
    return losses;
  };
  const Network one = two_sequences("CPU:0", "CPU:0");
  const Network two = two_sequences("CPU:1", "CPU:2");
  const std::vector<Tensor> expected = train(one);
  const std::vector<Tensor> losses = train(two);
  for (std::size_t step = 0; step < expected.size(); ++step) expect_same_bits(losses[step], expected[step]);
  for (std::size_t i = 0; i < 5; ++i) expect_same_bits(two.variables()[i].value(), one.variables()[i].value());
  EXPECT_EQ(two.variables()[0].value().device().name(), "CPU:1");
}

// The same in custom code with ops.
TEST(Placement, OpsOfCustomCodeRunInTheirScopes) {
  const Tensor x = random_tensor({4, 8}, 1);
  const auto weight = [](const char* name, const char* device, const Shape& shape, unsigned seed) {
    return with_device(device, [&] { return variable_of(name, random_tensor(shape, seed)); });
  };
  const auto losses = [&](const char* first, const char* second) {
    const std::vector<Variable> weights{weight("w", first, {8, 16}, 2), weight("v", second, {16, 3}, 3)};
    const SGD optimizer({.learning_rate = 0.1});
    std::vector<float> result;
    for (int step = 0; step < 3; ++step) {
      GradientTape tape;
      const Tensor hidden = with_device(first, [&] { return dense(x, weights[0].value(), {}, Activation::tanh); });
      const Tensor y = with_device(second, [&] { return dense(hidden, weights[1].value(), {}); });
      EXPECT_EQ(y.device(), with_device(second, [] { return current_context().device; }));
      const Tensor loss = mean(square(y));
      optimizer.minimize(tape, loss, weights);
      result.push_back(loss.item<float>());
    }
    return result;
  };
  EXPECT_EQ(losses("CPU:1", "CPU:2"), losses("CPU:0", "CPU:0"));
}

TEST(Placement, WhatTheLossDoesNotUseStaysOnItsDevice) {
  const auto ones = [](const char* device) {
    return with_device(device, [] { return variable_of("v", Tensor::full({3}, 1)); });
  };
  const std::vector<Variable> variables{ones("CPU:1"), ones("CPU:2")};
  const SGD optimizer({.learning_rate = 0.5});
  {
    GradientTape tape;
    optimizer.minimize(tape, sum(variables[0].value()), variables);
  }
  EXPECT_EQ(variables[0].value().to_vector<float>(), std::vector<float>(3, 0.5F));
  EXPECT_EQ(variables[1].value().to_vector<float>(), std::vector<float>(3, 1.0F));
  EXPECT_EQ(variables[1].value().device().name(), "CPU:2");
  EXPECT_ERROR(InvalidArgument, "no gradients provided", optimizer.apply_gradients(std::vector<Tensor>(2), variables));
}

TEST(Placement, OneReluOrConcatenationOnAnotherDeviceIsNotFused) {
  const auto network = [](const char* first, const char* second) {
    const Symbol x = Input({4, 4, 2});
    const BatchNormalization a;
    const BatchNormalization b;
    const Symbol left = with_device(first, [&] { return a(x); });
    const Symbol right = with_device(second, [&] { return b(x); });
    const Symbol cut = with_device(second, [&] { return ActivationLayer(Activation::relu)(left); });
    return Network(x, with_device(first, [&] { return Concatenate()({cut, right}); }), 1);
  };
  const Tensor x = random_tensor({3, 4, 4, 2}, 1);
  const Tensor y = network("CPU:1", "CPU:2")(x, Mode::train);
  EXPECT_EQ(y.device().name(), "CPU:1");
  expect_same_bits(y, network("CPU:0", "CPU:0")(x, Mode::train));
}

TEST(Placement, ANetworkCalledInAScopeRunsThere) {
  const Network network = two_sequences("CPU:1", "CPU:2");
  const Sequences data;
  const Tensor y = network(data.x, Mode::inference);
  const Tensor elsewhere = with_device("CPU:3", [&] { return network(data.x, Mode::inference); });
  EXPECT_EQ(elsewhere.device().name(), "CPU:3");
  expect_same_bits(elsewhere, y);
}

TEST(Placement, IsForModelsOutsideOfStrategies) {
  const Symbol x = Input({4});
  const Symbol y = with_device("CPU:1", [&] { return Dense({.units = 2})(x); });
  const MirroredStrategy strategy = mirrored(2);
  EXPECT_ERROR(LogicError, "placed by with_device: make it outside of the strategy's scope",
               strategy.scope([&] { Network(x, y, 0); }));
}

// A model with three layers of 256 x 256 weights, in memory that holds only two of them with gradients.
class Budget : public testing::Test {
 protected:
  ~Budget() override {
    for (const int index : {11, 12}) allocator({DeviceKind::cpu, index}).set_memory_limit(0);
  }

  static Model model(const std::string& first, const std::string& second) {
    const Symbol input = Input({256});
    const auto hidden = [](const std::string& device, const Symbol& x) {
      return with_device(device, [&] { return Dense({.units = 256, .activation = Activation::tanh})(x); });
    };
    const Symbol half = hidden(first, input);
    Model result(input, Dense({.units = 1, .activation = Activation::sigmoid})(hidden(second, hidden(second, half))),
                 {.seed = 3});
    result.compile(SGD({.learning_rate = 0.1}), BinaryCrossentropy());
    return result;
  }

  static Dataset data(std::int64_t examples) {
    std::vector<float> labels;
    for (std::int64_t i = 0; i < examples; ++i) labels.push_back(static_cast<float>(i % 2));
    return Dataset::from_tensors(random_tensor({examples, 256}, 1), Tensor::from(labels, {examples})).batch(examples);
  }

  static std::size_t in_use(int index) { return allocator({DeviceKind::cpu, index}).stats().bytes_in_use; }

  /// A tenth more memory than training on two devices needs on one of them. It depends on the processor: some of
  /// oneDNN's products need scratch memory.
  static std::size_t limit_of_one() {
    std::size_t most = 0;
    for (const int index : {11, 12}) allocator({DeviceKind::cpu, index}).reset_peak();
    model("CPU:11", "CPU:12").fit(data(16), {.epochs = 4});
    for (const int index : {11, 12}) most = std::max(most, allocator({DeviceKind::cpu, index}).stats().bytes_peak);
    return most + most / 10;
  }

  const std::size_t limit_ = limit_of_one();
  const std::string first_ = fmt::format("CPU:11@{}", limit_);
  const std::string second_ = fmt::format("CPU:12@{}", limit_);
};

TEST_F(Budget, AModelTooLargeForOneDeviceTrainsOverTwo) {
  Model free = model("CPU:0", "CPU:0");
  Model spread = model(first_, second_);
  const auto expected = free.fit(data(16), {.epochs = 4}).values.at("loss");
  EXPECT_LT(expected.back(), expected.front());
  EXPECT_EQ(spread.fit(data(16), {.epochs = 4}).values.at("loss"), expected);
  for (const int index : {11, 12}) {
    const AllocatorStats stats = allocator({DeviceKind::cpu, index}).stats();
    EXPECT_GT(stats.bytes_in_use, 0U) << index;
    EXPECT_LE(stats.bytes_in_use, limit_) << index;
  }
}

TEST_F(Budget, OnOneDeviceTheErrorSaysWhatWasAskedOfWhatWasLeft) {
  Model together = model(first_, first_);
  const std::string error = error_of<OutOfMemory>([&] { together.fit(data(16)); });
  EXPECT_THAT(error,
              testing::ContainsRegex("gradient of dense: a tensor of .*: CPU:11 has no room for [0-9]+ bytes: "));
  EXPECT_THAT(error, testing::HasSubstr(fmt::format(" bytes of its limit of {} are in use", limit_)));
}

TEST_F(Budget, AfterOutOfMemoryTheNextSmallerStepWorks) {
  Model spread = model(first_, second_);
  spread.fit(data(16));
  const std::size_t before[] = {in_use(11), in_use(12)};
  const std::string error = error_of<OutOfMemory>([&] { spread.fit(data(4096)); });
  EXPECT_THAT(error, testing::HasSubstr("layer 'dense': to_device: a tensor of f32 (4096, 256): CPU:11 has no room"));
  EXPECT_EQ(in_use(11), before[0]);
  EXPECT_EQ(in_use(12), before[1]);
  EXPECT_EQ(spread.fit(data(16)).epoch.size(), 1U);
  EXPECT_EQ(spread.predict(data(8)).shape(), Shape({8, 1}));
}

}  // namespace
}  // namespace lockstep::test
