// What a training step submits to one GPU, which is pretended. A kernel counts once, also where a GPU launches another
// one for the sums of many rows or for the conversion of a library's result. Counts do not depend on sizes.

#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <support/devices.h>
#include <support/pretend_gpu/pretend_cuda.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/losses/loss.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/models/zoo/mini_googlenet.h>
#include <lockstep/models/zoo/mlp.h>
#include <lockstep/models/zoo/resnet.h>
#include <lockstep/models/zoo/siamese_lstm.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep::test {
namespace {

constexpr std::int64_t batch = 2;
constexpr std::int64_t steps = 3;
constexpr std::int64_t examples = batch * steps;

Tensor labels() {
  std::vector<std::int64_t> numbers(examples);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::int64_t& number : numbers) number %= 3;
  return Tensor::from(numbers, {examples});
}

Example images() {
  return {.inputs = {random_tensor({examples, 32, 32, 3}, 1)}, .targets = {labels()}, .sample_weights = {}};
}

Example with_probabilities(std::vector<Tensor> inputs) {
  return {.inputs = std::move(inputs), .targets = {random_tensor({examples, 1}, 9, 0, 1)}, .sample_weights = {}};
}

struct Workload {
  std::string name;
  Model (*make)();
  Optimizer (*optimizer)();
  Loss loss;
  Example data;
  ///@{
  /// The most submissions of a step.
  std::int64_t most_f32, most_bf16, most_with_graphs;
  ///@}

  friend void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.name; }
};

std::vector<Workload> workloads() {
  const Loss by_logits = SparseCategoricalCrossentropy{{.from_logits = true}};
  const auto sgd = []() -> Optimizer { return SGD({.learning_rate = 5e-3, .momentum = 0.9}); };
  return {
#ifndef LOCKSTEP_SANITIZED  // takes more than a minute, with the code of mini_googlenet except for Add
      {"resnet50",
       [] {
         return zoo::resnet50({.input_shape = {32, 32, 3}, .classes = 3, .classifier_activation = Activation::linear});
       },
       sgd, by_logits, images(), 464, 467, 11},
#endif
      {"mini_googlenet",
       [] {
         return zoo::mini_googlenet({32, 32, 3}, 3);
       },
       sgd, by_logits, images(), 177, 180, 12},
      {"mlp",
       [] {
         return zoo::mlp({.inputs = 64, .hidden = {12, 8, 8, 4}});
       },
       []() -> Optimizer { return Adam(); }, BinaryCrossentropy{},
       with_probabilities({random_tensor({examples, 64}, 1)}), 35, 42, 7},
      {"siamese_lstm", [] { return zoo::siamese_lstm({.time_steps = 4, .features = 5, .units = 3}); },
       []() -> Optimizer { return RMSprop(); }, BinaryCrossentropy{},
       with_probabilities({random_tensor({examples, 4, 5}, 1), random_tensor({examples, 4, 5}, 2)}), 38, 44, 44}};
}

std::int64_t total(const Submissions& s) {
  std::int64_t sum = s.from_host.count + s.to_host.count + s.between_gpus.count + s.fills + s.graphs;
  for (const auto& [name, count] : s.kernels) sum += count;
  return sum;
}

/// Of one step.
std::string text(const Submissions& s) {
  const auto of_step = [](std::int64_t all) { return static_cast<double>(all) / steps; };
  const auto copies = [&](const char* what, const Submissions::Copies& of) {
    return fmt::format("\n  copies {}: {} of {} bytes", what, of_step(of.count), of_step(of.bytes));
  };
  std::string lines = fmt::format("{} submissions in a step", of_step(total(s)));
  for (const auto& [name, count] : s.kernels) lines += fmt::format("\n  {}: {}", name, of_step(count));
  return lines + copies("from the host", s.from_host) + copies("to the host", s.to_host) +
         copies("between GPUs", s.between_gpus) +
         fmt::format("\n  fills: {}, graphs: {}, waits for a stream: {}, for an event: {}", of_step(s.fills),
                     of_step(s.graphs), of_step(s.stream_waits), of_step(s.event_waits));
}

std::int64_t bytes_of(const Example& data) {
  std::int64_t bytes = 0;
  for (const std::vector<Tensor>& tensors : {data.inputs, data.targets})
    for (const Tensor& tensor : tensors)
      bytes += tensor.elements() * static_cast<std::int64_t>(size_of(tensor.dtype()));
  return bytes;
}

Model compiled(const Workload& workload, DTypePolicy policy) {
  const MirroredStrategy strategy(devices(1));
  Model model = strategy.scope([&] { return with_dtype_policy(policy, workload.make); });
  model.compile(workload.optimizer(), workload.loss);
  return model;
}

/// The submissions of the last epoch. Graphs are captured in the first three.
Submissions of_fit(Model model, const Example& data, bool cuda_graphs) {
  Submissions last;
  LambdaCallbackOptions functions;
  functions.on_epoch_begin = [](Model&, const EpochPlan&) { pretend_cuda()->take_submissions(); };
  functions.on_epoch_end = [&](Model&, int, const Logs&) { last = pretend_cuda()->take_submissions(); };
  model.fit(Dataset::from_tensors(data).batch(batch), {.epochs = cuda_graphs ? 4 : 2,
                                                       .callbacks = {std::make_shared<LambdaCallback>(functions)},
                                                       .cuda_graphs = cuda_graphs});
  return last;
}

class SubmissionsOf : public testing::TestWithParam<Workload> {
 protected:
  /// No more than `most` submissions in a step: each batch copied to the GPU once, and the loss back, for which alone
  /// the host waits. Uploads also wait until a staging buffer has been read.
  static void expect_most(const Submissions& found, std::int64_t most) {
    SCOPED_TRACE(text(found));
    EXPECT_LE(total(found), most * steps);
    EXPECT_EQ(found.from_host.bytes, bytes_of(GetParam().data));
    EXPECT_EQ(found.to_host.bytes, steps * static_cast<std::int64_t>(sizeof(float)));
    EXPECT_EQ(found.stream_waits, steps);
    EXPECT_LE(found.event_waits, steps);
  }
};

TEST_P(SubmissionsOf, AStepInF32) {
  const Submissions found = of_fit(compiled(GetParam(), DTypePolicy::float32), GetParam().data, false);
  expect_most(found, GetParam().most_f32);
  EXPECT_LT(found.between_gpus.bytes, bytes_of(GetParam().data)) << "the batch is not copied on the GPU";
}

TEST_P(SubmissionsOf, AStepInBf16) {
  const Submissions found = of_fit(compiled(GetParam(), DTypePolicy::mixed_bfloat16), GetParam().data, false);
  expect_most(found, GetParam().most_bf16);
  EXPECT_LT(found.between_gpus.bytes, bytes_of(GetParam().data)) << "the batch is not copied on the GPU";
}

// Graphs read the batch at the same place each time.
TEST_P(SubmissionsOf, AStepWithGraphs) {
  const Submissions found = of_fit(compiled(GetParam(), DTypePolicy::mixed_bfloat16), GetParam().data, true);
  expect_most(found, GetParam().most_with_graphs);
  EXPECT_LE(found.between_gpus.bytes, bytes_of(GetParam().data)) << "the batch is copied on the GPU at most once";
}

INSTANTIATE_TEST_SUITE_P(Zoo, SubmissionsOf, testing::ValuesIn(workloads()),
                         [](const auto& info) { return info.param.name; });

// A loop of one's own that reads nothing.
TEST(Submissions, TheHostWaitsForNoStepWhoseResultsItDoesNotRead) {
  const MirroredStrategy strategy(devices(1));
  const Model model = strategy.scope([] { return zoo::mini_googlenet({32, 32, 3}, 3); });
  const SGD optimizer = strategy.scope([] { return SGD({.learning_rate = 5e-3}); });
  const DistributedDataset data = strategy.distribute(Dataset::from_tensors(images()).batch(batch));
  const auto train = [&](std::uint64_t epoch) {
    for (const DistributedBatch& each : data.epoch(epoch))
      strategy.run(
          [&](const Batch& local) {
            GradientTape tape;
            const Tensor logits = model(local.x(), Mode::train);
            const Tensor loss = sum(sparse_softmax_cross_entropy(logits, local.y())) / static_cast<double>(batch);
            optimizer.minimize(tape, loss, model.trainable_variables());
          },
          each);
  };
  train(0);
  pretend_cuda()->take_submissions();
  train(1);
  const Submissions found = pretend_cuda()->take_submissions();
  SCOPED_TRACE(text(found));
  EXPECT_GT(total(found), 100 * steps);
  EXPECT_EQ(found.to_host.count, 0);
  EXPECT_EQ(found.stream_waits, 0);
  EXPECT_LE(found.event_waits, steps) << "for staging buffers of uploads";
}

}  // namespace
}  // namespace lockstep::test
