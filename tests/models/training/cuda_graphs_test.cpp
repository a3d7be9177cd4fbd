#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/pretend_gpu/pretend_cuda.h>
#include <support/small_problem.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/remat_scope.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/conv_transpose.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/zoo/mini_googlenet.h>
#include <lockstep/models/zoo/resnet.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep {
namespace {

using test::small_model;
using test::SmallProblem;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Must be called before there is a pretended GPU.
bool on_gpus() {
  const char* const devices = std::getenv("LOCKSTEP_TEST_DEVICES");
  return devices != nullptr && std::string_view(devices) != "cpu";
}

/// Messages that fit printed.
template <class Fit>
std::string output_of(const Fit& fit) {
  testing::internal::CaptureStderr();
  fit();
  return testing::internal::GetCapturedStderr();
}

/// 6x6 images of 2 channels in 3 classes.
Dataset images(std::int64_t examples) {
  const SmallProblem problem(examples);
  return Dataset::from_tensors(test::random_tensor({examples, 6, 6, 2}, 3), problem.y);
}

/// Returns its input, and adds the mean of its squares to the loss.
class SquaresImpl : public LayerImpl {
 public:
  SquaresImpl() : LayerImpl("squares", {.can_be_captured = true}) {}
  std::string_view class_name() const override { return "Squares"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    add_loss(mean(square(inputs[0])));
    return inputs[0];
  }
};

/// All kinds of layers that can be captured, including statistics, a penalty and an added loss; with `remat`, in a
/// RematScope.
Model image_model(const Strategy& strategy, bool remat = false) {
  return strategy.scope([&] {
    std::optional<RematScope> recomputed;
    if (remat) recomputed.emplace();
    const Symbol input = Input({6, 6, 2});
    const Symbol a = Conv2D({.filters = 4, .kernel_size = {3, 3}, .padding = Padding::same})(input);
    const Symbol b = ActivationLayer(Activation::relu)(BatchNormalization({.momentum = 0.9})(a));
    const Symbol c = MaxPooling2D({.pool_size = {2, 2}})(Concatenate()({b, input}));
    const Symbol d = Dropout({.rate = 0.3})(LayerNormalization()(Flatten()(c)));
    const Dense last({.units = 3, .kernel_regularizer = L2(1e-3)});
    return Model(input, last(Layer(std::make_shared<SquaresImpl>())(d)), {.seed = 5});
  });
}

void compile(const Model& model, const OptimizerOptions& options = {}) {
  Model(model).compile(SGD({.learning_rate = 0.05, .momentum = 0.9}, options),
                       SparseCategoricalCrossentropy{{.from_logits = true}}, {Accuracy{}});
}

/// All results of a training, for comparison bit by bit.
struct Outcome {
  std::vector<double> losses{};                        ///< by step
  std::map<std::string, std::vector<double>> means{};  ///< by epoch
  std::vector<std::vector<double>> weights{};
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome train(Model model, const Dataset& data, FitOptions options) {
  struct Recorder : Callback {
    void on_train_batch_end(Model&, const StepReport& report) override { losses.push_back(report.loss); }
    std::vector<double> losses;
  };
  const auto recorder = std::make_shared<Recorder>();
  options.callbacks.push_back(recorder);
  History history = model.fit(data, options);
  for (const char* timing : {"epoch_s", "examples_per_s"}) history.values.erase(timing);
  return {recorder->losses, {history.values.begin(), history.values.end()}, test::weights_of(model)};
}

/// Number of graph launches on pretended GPUs; other GPUs are not counted.
std::size_t launches() {
  test::PretendCuda* const cuda = test::pretend_cuda();
  return cuda ? static_cast<std::size_t>(cuda->calls("cudaGraphLaunch")) : 0;
}
bool counts_launches() {
  return test::pretend_cuda() != nullptr && !test::devices(1).front().name().starts_with("CPU");
}

/// Trains `captured` with CUDA graphs, and expects the results of `eager` without them.
void expect_graphs_to_train_alike(const Model& eager, const Model& captured) {
  const Dataset data = images(64).batch(16);
  compile(eager);
  compile(captured);
  const Outcome expected = train(eager, data, {.epochs = 2});
  const std::size_t before = launches();
  EXPECT_EQ(train(captured, data, {.epochs = 2, .cuda_graphs = true}), expected);
  if (counts_launches()) {
    EXPECT_GT(launches(), before);
  }
}

class CudaGraphsOn : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = test::mirrored(replicas_);
};

TEST_P(CudaGraphsOn, TrainToTheSameBitsInBfloat16Too) {
  const DTypePolicyScope policy("mixed_bfloat16");
  expect_graphs_to_train_alike(image_model(strategy_), image_model(strategy_));
}

// Steps of 16 rows and, at an epoch's end, of 8.
TEST_P(CudaGraphsOn, TrainToTheSameBits) {
  const Dataset data = images(56).batch(16);
  const Dataset other = images(20).batch(16);
  Model eager = image_model(strategy_);
  Model captured = image_model(strategy_);
  compile(eager);
  compile(captured);
  const Outcome expected = train(eager, data, {.epochs = 6, .validation = other});
  const std::size_t before = launches();
  EXPECT_EQ(train(captured, data, {.epochs = 6, .validation = other, .cuda_graphs = true}), expected);
  EXPECT_NO_THROW(verify_mirrored(captured.variables()));
  if (!counts_launches()) return;
  // For each shape, one step runs normally and two measure the memory needed; at least one graph is launched per later
  // step.
  EXPECT_GE(launches() - before, static_cast<std::size_t>(replicas_) * (6 * 3 - 3 + 6 - 3));
}

TEST_P(CudaGraphsOn, RecomputeBlocksToTheSameBits) {
  expect_graphs_to_train_alike(image_model(strategy_), image_model(strategy_, true));
}

/// Whether pretended GPUs execute work as late as possible.
void defer_work(bool on) {
  if (test::PretendCuda* const cuda = test::pretend_cuda()) cuda->defer_work(on);
}

// The first of two buckets is summed before the second one's gradients have been computed.
TEST_P(CudaGraphsOn, AreCutWhereABucketIsFinal) {
  const Dataset data = SmallProblem(128).dataset().batch(16);
  const auto outcome = [&](bool cuda_graphs) {
    Model model = strategy_.scope([] {
      const Symbol input = Input({8});
      const Symbol wide = Dense({.units = 512, .activation = Activation::relu})(input);
      const Symbol wider = Dense({.units = 600, .activation = Activation::relu})(wide);
      return Model(input, Dense({.units = 3})(wider), {.seed = 5});
    });
    compile(model);
    return train(model, data, {.cuda_graphs = cuda_graphs});
  };
  const bool beside = strategy_.state()->gradient_update().overlaps_backward();
  for (const bool late : {true, false}) {
    defer_work(late);
    const Outcome expected = outcome(false);
    const std::size_t before = launches();
    EXPECT_EQ(outcome(true), expected);
    // The last five of eight steps, in up to three parts: until the first bucket, until the second, and the rest.
    if (counts_launches()) {
      EXPECT_EQ(launches() - before, static_cast<std::size_t>(replicas_ * 5 * (beside ? 3 : 1)));
    }
  }
}

TEST_P(CudaGraphsOn, AreNotUsedUnasked) {
  Model model = small_model(strategy_);
  const std::size_t before = launches();
  model.fit(SmallProblem(96).dataset().batch(16), {});
  EXPECT_EQ(launches(), before);
}

TEST_P(CudaGraphsOn, AreOfTheZoosImageModels) {
  if (replicas_ != 2) return;  // pretended GPUs are slow
  const std::int64_t n = 6 * 4;
  const Dataset data = Dataset::from_tensors(test::random_tensor({n, 32, 32, 3}, 3), SmallProblem(n).y).batch(4);
  const auto expect_same = [&](const auto& make_model) {
    const auto outcome = [&](bool cuda_graphs) {
      const Model model = strategy_.scope(make_model);
      compile(model);
      return train(model, data, {.cuda_graphs = cuda_graphs});
    };
    const std::size_t before = launches();
    EXPECT_EQ(outcome(true), outcome(false));
    if (counts_launches()) {
      EXPECT_GT(launches(), before);
    }
  };
  expect_same([] { return zoo::mini_googlenet({32, 32, 3}, 3); });
  expect_same([] { return zoo::resnet50({.input_shape = {32, 32, 3}, .classes = 3}); });
}

TEST_P(CudaGraphsOn, HoldLayersThatAreCompositionsOrDrawNumbers) {
  if (replicas_ != 2) return;
  const Dataset data = images(24).batch(4);
  const auto outcome = [&](bool cuda_graphs) {
    const Model model = strategy_.scope([] {
      const Symbol input = Input({6, 6, 2});
      Symbol x = Conv2DTranspose({.filters = 4, .kernel_size = 2, .strides = 2})(input);
      x = ReLU({.negative_slope = 0.5, .threshold = 0.25})(PReLU()(GroupNormalization({.groups = 2})(x)));
      x = RMSNormalization()(LayerNormalization({.axis = {1, 2}})(BatchNormalization({.axis = 1})(x)));
      x = GaussianDropout({.rate = 0.25})(GaussianNoise({.stddev = 0.5})(x));
      x = UnitNormalization()(Softmax({.axis = {1, 3}})(x));
      return Model(input, Dense({.units = 3})(Flatten()(x)), {.seed = 5});
    });
    compile(model);
    return train(model, data, {.cuda_graphs = cuda_graphs});
  };
  const std::size_t before = launches();
  EXPECT_EQ(outcome(true), outcome(false));
  if (counts_launches()) {
    EXPECT_GT(launches(), before);
  }
}

// The optimizer's work is unchanged: norms, averages over steps, class weights and limits.
TEST_P(CudaGraphsOn, LeaveTheUpdateToTheOptimizer) {
  const Dataset data = SmallProblem(64).dataset().batch(16);
  const auto outcome = [&](const OptimizerOptions& options, bool cuda_graphs) {
    Model model = small_model(strategy_);
    compile(model, options);
    return train(model, data, {.epochs = 2, .class_weight = {{0, 2.0}, {1, 0.5}}, .cuda_graphs = cuda_graphs});
  };
  for (const OptimizerOptions& options : {OptimizerOptions{.weight_decay = 0.01, .global_clipnorm = 0.1},
                                          OptimizerOptions{.clipvalue = 0.01, .clip_before_aggregate = true},
                                          OptimizerOptions{.gradient_accumulation_steps = 2, .use_ema = true}}) {
    const std::size_t before = launches();
    EXPECT_EQ(outcome(options, true), outcome(options, false));
    if (counts_launches()) {
      EXPECT_GT(launches(), before);
    }
  }
}

/// After every step, makes tensors on every replica's device and checks that those of earlier steps are unchanged.
struct Holder : Callback {
  void on_train_batch_end(Model& model, const StepReport& report) override {
    for (const LogicalDevice& device : model.strategy().devices()) {
      const ContextScope there({.device = device});
      for (const std::int64_t elements : {1, 16, 64, 200, 600, 1200, 3000})
        held.emplace_back(Tensor::full({elements}, static_cast<double>(report.step)), static_cast<float>(report.step));
    }
    for (const auto& [tensor, value] : held) {
      const std::vector<float> values = tensor.to_vector<float>();
      spoiled += std::ranges::count_if(values, [&](float found) { return found != value; });
    }
  }
  std::vector<std::pair<Tensor, float>> held;
  std::int64_t spoiled = 0;
};

TEST_P(CudaGraphsOn, WriteToNobodyElsesMemory) {
  Model model = image_model(strategy_);
  compile(model);
  const auto holder = std::make_shared<Holder>();
  const std::size_t before = launches();
  model.fit(images(64).batch(16), {.epochs = 3, .callbacks = {holder}, .cuda_graphs = true});
  EXPECT_EQ(holder->spoiled, 0);
  if (counts_launches()) {
    EXPECT_GT(launches(), before);
  }
}

// Another model may use a model's memory while it does not train.
TEST_P(CudaGraphsOn, MayTakeTurnsWithOtherTrainings) {
  const Dataset data = images(64).batch(16);
  const auto outcomes = [&](bool cuda_graphs) {
    Model first = image_model(strategy_);
    Model second = small_model(strategy_);
    compile(first);
    std::vector<Outcome> all;
    for (int round = 0; round < 2; ++round) {
      all.push_back(train(first, data, {.epochs = 2, .cuda_graphs = cuda_graphs}));
      all.push_back(train(second, SmallProblem(80).dataset().batch(16), {.cuda_graphs = cuda_graphs}));
    }
    return all;
  };
  EXPECT_EQ(outcomes(true), outcomes(false));
}

// Dropout continues its random numbers as it would without graphs.
TEST_P(CudaGraphsOn, MayBeLeftForStepsAsEver) {
  const Dataset data = images(64).batch(16);
  const auto outcome = [&](bool cuda_graphs) {
    Model model = image_model(strategy_);
    compile(model);
    train(model, data, {.epochs = 2, .cuda_graphs = cuda_graphs});
    return train(model, data, {});
  };
  EXPECT_EQ(outcome(true), outcome(false));
}

TEST_P(CudaGraphsOn, AskForNoMemoryOnceTheyAreThere) {
  struct Counter : Callback {
    void on_train_batch_end(Model& model, const StepReport& report) override {
      if (report.step != 6 && report.step != 15) return;
      for (const LogicalDevice& device : model.strategy().devices())
        (report.step == 6 ? warm : end) += allocator(device).stats().system_allocations;
    }
    std::uint64_t warm = 0;
    std::uint64_t end = 0;
  };
  const auto counter = std::make_shared<Counter>();
  Model model = small_model(strategy_);
  model.fit(SmallProblem(256).dataset().batch(16), {.callbacks = {counter}, .cuda_graphs = true});
  EXPECT_EQ(counter->end, counter->warm);
}

// A label that is not a class, in the last step: by then steps are launched as graphs.
TEST_P(CudaGraphsOn, AStepThatFailsEndsFitWithItsOwnError) {
  const SmallProblem problem(128);
  const Tensor labels = problem.y;
  labels.data<std::int64_t>()[127] = 7;
  Model model = small_model(strategy_);
  const std::size_t before = launches();
  EXPECT_THAT([&] { model.fit(Dataset::from_tensors(problem.x, labels).batch(16), {.cuda_graphs = true}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("is out of range")));
  if (counts_launches()) {
    EXPECT_GT(launches(), before);
  }
  EXPECT_NO_THROW(model.fit(SmallProblem(64).dataset().batch(16), {.cuda_graphs = true}));
}

/// Multiplies by 2. Only the layer itself knows what else it does with its input.
class Twice : public LayerImpl {
 public:
  explicit Twice(const LayerTraits& traits = {}) : LayerImpl("twice", traits) {}
  std::string_view class_name() const override { return "Twice"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return inputs[0] + inputs[0]; }
};

/// Reads a value on the host, although it declares that it does not.
class Reader final : public Twice {
 public:
  Reader() : Twice({.can_be_captured = true}) {}
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    first_ = inputs[0].to_vector<float>().front();
    return Twice::call(inputs, call);
  }

 private:
  std::atomic<float> first_ = 0;
};

/// Says that it makes masks.
class Marker final : public Twice {
 public:
  Marker() : Twice({.can_be_captured = true, .supports_masking = true, .makes_masks = true}) {}
};

template <class Impl>
Model model_with(const Strategy& strategy) {
  Model model = strategy.scope([] {
    const Symbol input = Input({8});
    return Model(input, Dense({.units = 3})(Layer(std::make_shared<Impl>())(input)), {.seed = 5});
  });
  compile(model);
  return model;
}

/// Trains with and without graphs, expects equal results, and returns the only line that the first training printed.
template <class Impl>
std::string refusal(const Strategy& strategy) {
  const Dataset data = SmallProblem(96).dataset().batch(16);
  const std::size_t before = launches();
  Outcome outcome;
  const std::string printed = output_of(
      [&] { outcome = train(model_with<Impl>(strategy), data, {.epochs = 2, .verbose = 0, .cuda_graphs = true}); });
  EXPECT_EQ(std::ranges::count(printed, '\n'), 1) << printed;
  EXPECT_EQ(launches(), before);
  EXPECT_EQ(outcome, train(model_with<Impl>(strategy), data, {.epochs = 2}));
  return printed;
}

TEST_P(CudaGraphsOn, AreLeftAloneWhereALayerDoesNotSayThatItCanBeCaptured) {
  EXPECT_THAT(refusal<Twice>(strategy_),
              HasSubstr("CUDA graphs are not used: a layer of class Twice ('twice') cannot be captured"));
}

TEST_P(CudaGraphsOn, AreLeftAloneWhereALayerMakesMasks) {
  EXPECT_THAT(refusal<Marker>(strategy_), HasSubstr("CUDA graphs are not used: layer 'twice' makes masks, and the "
                                                    "replicas must sum the numbers of unmasked steps"));
}

TEST_P(CudaGraphsOn, AreGivenUpOnceWhenAStepReadsAValue) {
  EXPECT_THAT(refusal<Reader>(strategy_),
              HasSubstr("CUDA graphs are not used: layer 'twice': a value read by the host cannot be captured"));
}

/// The only line that a training with graphs prints.
std::string warning_of(const Model& model, const Dataset& data) {
  compile(model);
  return output_of([&] { Model(model).fit(data, {.cuda_graphs = true}); });
}

// Collectives within a layer, and gradients that are rows.
TEST_P(CudaGraphsOn, AreLeftAloneWithStatisticsOfAllReplicasAndEmbeddings) {
  const Model statistics = strategy_.scope([] {
    const Symbol input = Input({8});
    return Model(input, Dense({.units = 3})(BatchNormalization({.synchronized = true})(input)));
  });
  EXPECT_THAT(warning_of(statistics, SmallProblem(64).dataset().batch(16)),
              HasSubstr("a layer of class BatchNormalization ('batch_normalization') cannot be captured"));
  const Model words = strategy_.scope([] {
    const Symbol input = Input({4});
    return Model(input, Dense({.units = 3})(Flatten()(Embedding({.input_dim = 5, .output_dim = 2})(input))));
  });
  const Tensor indices = Tensor::from(std::vector<std::int64_t>(64 * 4, 3), {64, 4});
  EXPECT_THAT(warning_of(words, Dataset::from_tensors(indices, SmallProblem(64).y).batch(16)),
              HasSubstr("a layer of class Embedding ('embedding') cannot be captured"));
}

TEST_P(CudaGraphsOn, AreLeftAloneWithALossOfOnesOwnAndGivenUpWithCheckedGradients) {
  const Loss own("own", [](const Tensor& y_true, const Tensor& y_pred) {
    return SparseCategoricalCrossentropy{{.from_logits = true}}(y_true, y_pred);
  });
  Model model = small_model(strategy_);
  model.compile(SGD({.learning_rate = 0.1}), own);
  const Dataset data = SmallProblem(96).dataset().batch(16);
  EXPECT_THAT(output_of([&] { model.fit(data, {.cuda_graphs = true}); }),
              HasSubstr("CUDA graphs are not used: the loss 'own' is a custom one"));
  model.compile(SGD({.learning_rate = 0.1}), {},
                {.train_step = [](const Model&, const Batch&, std::int64_t) { return StepValues(); }});
  EXPECT_THAT(output_of([&] { model.fit(data, {.cuda_graphs = true}); }),
              HasSubstr("CUDA graphs are not used: the model has a train_step of the program's own"));
  compile(model, {});
  model.optimizer().check_numerics();
  EXPECT_THAT(output_of([&] { model.fit(data, {.cuda_graphs = true}); }), HasSubstr("cannot be captured"));
}

INSTANTIATE_TEST_SUITE_P(Replicas, CudaGraphsOn,
                         testing::ValuesIn(on_gpus() ? std::vector<int>{1, 2, 3} : std::vector<int>{}));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaGraphsOn);

TEST(CudaGraphs, AreForGpus) {
  if (on_gpus()) GTEST_SKIP() << "these are GPUs";
  Model model = small_model(test::mirrored(2));
  EXPECT_THAT([&] { model.fit(SmallProblem(16).dataset().batch(16), {.cuda_graphs = true}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("cuda_graphs needs replicas on GPUs, one is on CPU:0")));
}

}  // namespace
}  // namespace lockstep
