#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/models/compat/multi_gpu_model.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/runtime/thread/device_scope.h>

// Section 13 of the contract, sentence by sentence.

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> two_cpus{"CPU:0", "CPU:1"};
const std::vector<std::string> three_cpus{"CPU:1", "CPU:2", "CPU:3"};

/// Device and number of rows of each call of a model.
struct Observer final : LayerImpl {
  Observer() : LayerImpl("observer") {}
  std::string_view class_name() const override { return "Observer"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    calls.push_back(fmt::format("{} on {}", inputs[0].dim(0), inputs[0].device().name()));
    return inputs[0];
  }
  std::vector<std::string> calls;
};

/// A model that records its calls.
struct Observed {
  std::shared_ptr<Observer> observer = std::make_shared<Observer>();
  Model model = [&] {
    const Symbol input = Input({8});
    return Model(input, Dense({.units = 3})(Layer(observer)(input)), {.seed = 5});
  }();

  std::vector<std::string> calls_for(std::int64_t rows, const MultiGpuOptions& options) {
    observer->calls.clear();
    multi_gpu_model(model, options)(random_tensor({rows, 8}, 1));
    return observer->calls;
  }
};

Model of_unused_and_passed_on_inputs() {
  const Symbol x = Input({8}, "x");
  return {{x, Input({2}, "unused")}, {Dense({.units = 3})(x), x}, {.seed = 5}};
}

TEST(MultiGpuModel, KeepsInputsThatAreUnusedOrOutputs) {
  const Model model = of_unused_and_passed_on_inputs();
  const Model parallel = multi_gpu_model(model, {.devices = two_cpus});
  const std::vector<Tensor> inputs{random_tensor({5, 8}, 1), random_tensor({5, 2}, 2)};
  EXPECT_EQ(parallel.network().output_names()[1], "x");
  const std::vector<Tensor> outputs = parallel.predict_all(inputs);
  expect_close(outputs[0], model.predict_all(inputs)[0].to_vector<double>(), 8);
  expect_same_bits(outputs[1], inputs[0]);
}

Model single_model() { return small_model(get_strategy()); }

void compile(Model& model) {
  model.compile(SGD({.learning_rate = 0.2, .momentum = 0.9}), SparseCategoricalCrossentropy{{.from_logits = true}},
                {Accuracy{}});
}

// semantics 13.1: gpus
TEST(MultiGpuModel, NeedsTwoGpus) {
  const Model model = single_model();
  for (const int gpus : {1, 0, -1})
    EXPECT_ERROR(InvalidArgument, fmt::format("gpus >= 2, got {}", gpus), multi_gpu_model(model, {.gpus = gpus}));
  EXPECT_ERROR(InvalidArgument, "len(gpus) >= 2, got [3]", multi_gpu_model(model, {.gpus = {3}}));
  EXPECT_ERROR(InvalidArgument, "len(devices) >= 2, got [CPU:0]", multi_gpu_model(model, {.devices = {"CPU:0"}}));
}

// semantics 13.1: gpus
TEST(MultiGpuModel, NamesWantedAndAvailableDevices) {
  const Model model = single_model();
  const std::string error = error_of<InvalidArgument>([&] { multi_gpu_model(model, {.gpus = {0, 4096}}); });
  EXPECT_THAT(error, HasSubstr("expects the devices [CPU:0, GPU:0, GPU:4096], this machine has [CPU:0"));
  EXPECT_THAT(error, HasSubstr("try reducing gpus"));
  EXPECT_ERROR(InvalidArgument, "GPU:98, GPU:99]", multi_gpu_model(model, {.gpus = 100}));
}

// semantics 13.1: "Missing GPUs with gpus=None therefore also raise ValueError"
TEST(MultiGpuModel, WithoutGpusAllOfThemAreTooFew) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_ERROR(InvalidArgument, "gpus >= 2, got 0, as many as there are", multi_gpu_model(single_model()));
}

// semantics 13.1: gpus. Logical CPUs stand in only when the user says so.
TEST(MultiGpuModel, RunsOnNamedDevicesInTheirOrder) {
  Observed observed;
  EXPECT_THAT(observed.calls_for(4, {.devices = {"CPU:2", "/cpu:1"}}), ElementsAre("2 on CPU:2", "2 on CPU:1"));
  // "Duplicates in a list are not checked."
  EXPECT_THAT(observed.calls_for(4, {.devices = {"CPU:2", "CPU:2"}}), ElementsAre("2 on CPU:2", "2 on CPU:2"));
  EXPECT_ERROR(InvalidArgument, "CPU:64 does not exist", observed.calls_for(4, {.devices = {"CPU:0", "CPU:64"}}));
  EXPECT_ERROR(InvalidArgument, "gpus or devices, got both", observed.calls_for(4, {.gpus = 2, .devices = two_cpus}));
}

// The programs of the seed tutorials make the template on the CPU, where its weights stay; the replicas run on their
// devices.
TEST(MultiGpuModel, TheTemplateMayBeMadeUnderTheCpu) {
  Observed observed = with_device("/cpu:0", [] { return Observed(); });
  EXPECT_THAT(observed.calls_for(4, {.devices = {"CPU:1", "CPU:2"}}), ElementsAre("2 on CPU:1", "2 on CPU:2"));
  EXPECT_EQ(observed.model.variables()[0].value().device().name(), "CPU:0");
}

// semantics 13.2: "step = B // n ... the last takes all the rest"
TEST(MultiGpuModel, TheLastReplicaTakesTheRest) {
  Observed observed;
  EXPECT_THAT(observed.calls_for(8, {.devices = three_cpus}), ElementsAre("2 on CPU:1", "2 on CPU:2", "4 on CPU:3"));
  EXPECT_THAT(observed.calls_for(2, {.devices = three_cpus}), ElementsAre("0 on CPU:1", "0 on CPU:2", "2 on CPU:3"));
  EXPECT_THAT(observed.calls_for(8, {.legacy_split = false, .devices = three_cpus}),
              ElementsAre("3 on CPU:1", "3 on CPU:2", "2 on CPU:3"));
}

// semantics 13.2: "Each input is sliced on its own", and the seeds' siamese models: one sub-model on two inputs.
TEST(MultiGpuModel, SlicesEachInput) {
  const Symbol a = Input({8}, "a");
  const Symbol b = Input({8}, "b");
  const Dense shared({.units = 4});
  const Model model({a, b}, Dense({.units = 2})(Concatenate()({shared(a), shared(b)})), {.seed = 1});
  const ParallelModel parallel = multi_gpu_model(model, {.devices = three_cpus});
  ASSERT_EQ(parallel.network().inputs().size(), 2U);
  EXPECT_EQ(parallel.network().inputs()[1].name, "b");
  const std::vector<Tensor> x{random_tensor({7, 8}, 1), random_tensor({7, 8}, 2)};
  expect_close(parallel(x), model(x).to_vector<double>(), 8);
}

// semantics 13.3: "Outputs are concatenated ... on the CPU (cpu_merge) or on the first GPU"
TEST(MultiGpuModel, JoinsOnTheCpuOrTheFirstDevice) {
  const Model model = single_model();
  const Tensor x = random_tensor({4, 8}, 1);
  EXPECT_EQ(multi_gpu_model(model, {.devices = three_cpus})(x).device().name(), "CPU:0");
  EXPECT_EQ(multi_gpu_model(model, {.cpu_merge = false, .devices = three_cpus})(x).device().name(), "CPU:1");
}

// semantics 13.3: "all share the template's weights"
TEST(MultiGpuModel, SharesTheTemplatesWeights) {
  const Model model = single_model();
  const ParallelModel parallel = multi_gpu_model(model, {.devices = three_cpus});
  EXPECT_EQ(parallel.variables(), model.variables());
  EXPECT_EQ(parallel.count_params(), model.count_params());
}

// semantics 13.3: "One backward over the merged batch: loss is over the whole batch, no 1/R rule; the optimizer runs
// once". Uneven batches and batches of less rows than replicas. Gradients are sums over the rows in another grouping.
TEST(MultiGpuModel, TrainsAsTheSingleModel) {
  const Dataset data = SmallProblem(50).dataset().batch(16);
  Model single = single_model();
  const History expected = single.fit(data, {.epochs = 3});
  for (const bool legacy : {true, false}) {
    const Model model = single_model();
    ParallelModel parallel = multi_gpu_model(model, {.legacy_split = legacy, .devices = three_cpus});
    compile(parallel);
    const History history = parallel.fit(data, {.epochs = 3});
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      const double loss = expected.values.at("loss")[epoch];
      EXPECT_NEAR(history.values.at("loss")[epoch], loss, tolerance(DType::f32, 16 * 12, loss));
      EXPECT_EQ(history.values.at("accuracy")[epoch], expected.values.at("accuracy")[epoch]);
    }
    const auto weights = weights_of(single);
    for (std::size_t i = 0; i < weights.size(); ++i) expect_close(model.variables()[i].value(), weights[i], 16 * 12);
    EXPECT_EQ(parallel.optimizer().iterations(), 12);
  }
}

TEST(MultiGpuModel, KeepsTheMaskOfAnOutput) {
  const Symbol ids = Input({3});
  const Symbol words = Embedding({.input_dim = 5, .output_dim = 4, .mask_zero = true})(ids);
  Model model(ids, Dense({.units = 2, .activation = Activation::softmax})(words), {.seed = 1});
  Model parallel = multi_gpu_model(model, {.devices = two_cpus});
  const Tensor x = Tensor::from(std::vector<std::int64_t>{1, 2, 0, 3, 0, 0, 4, 1, 2, 2, 2, 0}, {4, 3});
  const Tensor y = Tensor::from(std::vector<std::int64_t>{1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0}, {4, 3});
  for (Model* const each : {&model, &parallel}) each->compile(SGD(), SparseCategoricalCrossentropy());
  const Dataset data = Dataset::from_tensors(x, y).batch(4);
  EXPECT_NEAR(parallel.evaluate(data).at("loss"), model.evaluate(data).at("loss"), 1e-6);
}

// Layers that write directly into a concatenation of channels must use the number of rows of their replica, not of the
// batch.
TEST(MultiGpuModel, JoinsChannelsWithinAReplica) {
  const Symbol input = Input({4, 4, 2});
  const auto branch = [&](std::int64_t filters) {
    return BatchNormalization()(Conv2D({.filters = filters, .kernel_size = {1, 1}})(input));
  };
  const Model model(input, Concatenate()({branch(3), branch(5)}));
  const ParallelModel parallel = multi_gpu_model(model, {.devices = three_cpus});
  std::vector<float> values(7 * 4 * 4 * 2);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13);
  const Tensor x = Tensor::from(values, {7, 4, 4, 2});
  const Tensor y = parallel(x, Mode::inference);
  EXPECT_EQ(y.shape(), (Shape{7, 4, 4, 8}));
  expect_close(y, model(x, Mode::inference).to_vector<double>(), 2);
  EXPECT_EQ(parallel(x, Mode::train).shape(), (Shape{7, 4, 4, 8}));
}

// semantics 13.3: "stateful updates (BN) are those of the shared layers, applied by every replica on the one copy"; an
// empty slice, where Keras' batch norm turned to NaN, changes nothing.
TEST(MultiGpuModel, EveryReplicaUpdatesTheOneCopyOfMovingStatistics) {
  const Symbol input = Input({1});
  const Model model(input, BatchNormalization({.momentum = 0.5})(input));
  const ParallelModel parallel = multi_gpu_model(model, {.devices = two_cpus});
  const Tensor x = Tensor::from(std::vector<float>{0, 2, 10, 12, 14}, {5, 1});
  parallel(x, Mode::train);
  EXPECT_FLOAT_EQ(model.variables()[2].value().item<float>(), (0 * 0.5F + 1 * 0.5F) * 0.5F + 12 * 0.5F);
  parallel(Tensor::from(std::vector<float>{4.25}, {1, 1}), Mode::train);
  EXPECT_FLOAT_EQ(model.variables()[2].value().item<float>(), 6.25F * 0.5F + 4.25F * 0.5F);
}

// semantics 13.4: names
TEST(MultiGpuModel, KeepsNames) {
  const Symbol input = Input({8}, "pixels");
  const Model model(input, Dense({.units = 3, .name = "classes"})(Dense({.units = 4})(input)), {.name = "template"});
  const ParallelModel parallel = multi_gpu_model(model, {.devices = two_cpus});
  EXPECT_EQ(parallel.network().inputs().at(0).name, "pixels");
  std::vector<std::string> names;
  for (const Layer& layer : parallel.network().layers()) names.push_back(layer.name());
  // Keras nests the template as one layer with one output; here template_model() returns it.
  EXPECT_THAT(names, ElementsAre("replica_0/pixels", "dense", "template_classes", "replica_1/pixels", "classes"));
  EXPECT_EQ(parallel.template_model().name(), "template");
  EXPECT_EQ(parallel.devices().size(), 2U);
}

// semantics 13.3: "Outputs are concatenated along axis 0, output by output", and 13.4: a second output of one layer
TEST(MultiGpuModel, JoinsEachOutput) {
  const Symbol input = Input({8});
  const Dense shared({.units = 3, .name = "classes"});
  const Symbol hidden = Dense({.units = 8})(input);
  const Model model({input}, {shared(input), shared(hidden), Dense({.units = 1, .name = "size"})(hidden)}, {.seed = 2});
  ParallelModel parallel = multi_gpu_model(model, {.devices = three_cpus});
  const Tensor x = random_tensor({7, 8}, 1);
  const std::vector<Tensor> expected = model.run({x});
  const std::vector<Tensor> outputs = parallel.run({x});
  ASSERT_EQ(outputs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) expect_close(outputs[i], expected[i].to_vector<double>(), 8);
  parallel.compile(SGD(), MeanSquaredError());
  const Tensor y = Tensor::zeros({7, 3});
  const Dataset data = Dataset::from_tensors({{x}, {y, y, Tensor::zeros({7, 1})}});
  const Logs logs = parallel.evaluate(data.batch(7));
  for (const char* name : {"loss", "classes_loss", "classes_1_loss", "size_loss"})
    EXPECT_TRUE(logs.contains(name)) << name;
}

// semantics 13.5: "save of the parallel model delegates to the template"
TEST(MultiGpuModel, SavesAndLoadsThroughTheTemplate) {
  const TemporaryFolder folder;
  Model model = single_model();
  ParallelModel parallel = multi_gpu_model(model, {.devices = two_cpus});
  Model& as_callbacks_see_it = parallel;
  model.save_weights(folder / "template.weights.h5");
  as_callbacks_see_it.save_weights(folder / "parallel.weights.h5");
  EXPECT_EQ(contents_of(folder / "parallel.weights.h5"), contents_of(folder / "template.weights.h5"));
  const auto saved = weights_of(model);
  model.variables()[0].assign(random_tensor({8, 16}, 77));
  parallel.load_weights(folder / "template.weights.h5");
  EXPECT_EQ(weights_of(model), saved);
}

// semantics 13.6: cpu_relocation: the object that the caller holds is the one that is trained
TEST(MultiGpuModel, RelocationMovesTheTemplatesOwnWeights) {
  const Model model = with_device("CPU:2", [] {
    const Symbol input = Input({8});
    return Model(input, Dense({.units = 3})(input), {.seed = 5});
  });
  const auto weights = weights_of(model);
  EXPECT_EQ(model.variables()[0].value().device().name(), "CPU:2");
  ParallelModel parallel = multi_gpu_model(model, {.cpu_relocation = true, .devices = two_cpus});
  for (const Variable& variable : model.variables()) EXPECT_EQ(variable.value().device().name(), "CPU:0");
  EXPECT_EQ(weights_of(model), weights);
  compile(parallel);
  parallel.fit(SmallProblem(16).dataset().batch(8));
  EXPECT_NE(weights_of(model), weights);
  EXPECT_EQ(weights_of(model), weights_of(parallel));
}

// semantics 13.7: "predict/evaluate with B not divisible by n must give exactly the single-device result in order"
TEST(MultiGpuModel, PredictsAndEvaluatesAsTheSingleModel) {
  Model model = single_model();
  const Dataset data = SmallProblem(23).dataset().batch(7);
  const Tensor expected = model.predict(data);
  const Logs evaluated = model.evaluate(data);
  for (const auto& devices : {two_cpus, three_cpus}) {
    ParallelModel parallel = multi_gpu_model(model, {.devices = devices});
    compile(parallel);
    const Tensor predicted = parallel.predict(data);
    ASSERT_EQ(predicted.shape(), expected.shape());
    expect_close(predicted, expected.to_vector<double>(), 16);
    EXPECT_NEAR(parallel.evaluate(data).at("loss"), evaluated.at("loss"),
                tolerance(DType::f32, 16, evaluated.at("loss")));
    EXPECT_EQ(parallel.evaluate(data).at("accuracy"), evaluated.at("accuracy"));
  }
}

// semantics 13.7: "Optimizer state belongs to the parallel model"
TEST(MultiGpuModel, HasItsOwnOptimizer) {
  const Symbol input = Input({8});
  Model model(input, Dense({.units = 3})(input));
  ParallelModel parallel = multi_gpu_model(model, {.devices = two_cpus});
  EXPECT_THROW(parallel.optimizer(), LogicError);
  compile(parallel);
  EXPECT_NO_THROW(parallel.optimizer());
  EXPECT_THROW(model.optimizer(), LogicError);
}

// semantics 13.5, 13.7: the template's weights, and the parallel model's optimizer
TEST(MultiGpuModel, IsSavedWithItsOptimizerAsItsTemplate) {
  const TemporaryFolder folder;
  const Dataset data = SmallProblem(24).dataset().batch(8);
  ParallelModel parallel = multi_gpu_model(single_model(), {.devices = three_cpus});
  compile(parallel);
  parallel.fit(data);
  for (const char* name : {"model.keras", "model.h5"}) {
    save_model(parallel, folder / name);
    Model loaded = load_model(folder / name);
    EXPECT_EQ(loaded.optimizer().iterations(), 3);
    const Logs expected = parallel.evaluate(data);
    EXPECT_NEAR(loaded.evaluate(data).at("loss"), expected.at("loss"), tolerance(DType::f32, 16, expected.at("loss")));
    const OptimizerState state = loaded.optimizer().state();
    ASSERT_EQ(state.slots.size(), 1U);
    const std::vector<Tensor> kept = parallel.optimizer().state().slots.at(0).values;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      // Files list the layers in Keras' order, which for sequential layers is the model's.
      ASSERT_EQ(state.slots[0].values[i].shape(), kept[i].shape());
      expect_same_bits(state.slots[0].values[i], kept[i]);
    }
  }
}

TEST(MultiGpuModel, IsForModelsOutsideOfStrategies) {
  const MirroredStrategy strategy = mirrored(2);
  const Model mirrored_model = small_model(strategy);
  EXPECT_ERROR(LogicError, "has 2 replicas already", multi_gpu_model(mirrored_model, {.devices = two_cpus}));
  const Model model = single_model();
  EXPECT_ERROR(LogicError, "called in a strategy's scope",
               strategy.scope([&] { multi_gpu_model(model, {.devices = two_cpus}); }));
}

// The program of the make_parallel tutorial, smaller.
TEST(MakeParallel, IsTheSamePiece) {
  const Dataset data = SmallProblem(20).dataset().batch(10);
  Observed observed;
  ParallelModel parallel = make_parallel(observed.model, 3, three_cpus);
  compile(parallel);
  parallel.fit(data);
  EXPECT_THAT(observed.observer->calls,
              ElementsAre("3 on CPU:1", "3 on CPU:2", "4 on CPU:3", "3 on CPU:1", "3 on CPU:2", "4 on CPU:3"));
  EXPECT_ERROR(InvalidArgument, "gpu_count 2 and 3 devices", make_parallel(observed.model, 2, three_cpus));
  EXPECT_ERROR(InvalidArgument, "try reducing gpus", make_parallel(observed.model, 4096));
}

}  // namespace
}  // namespace lockstep::test
