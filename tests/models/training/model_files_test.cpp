#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/compat/multi_gpu_model.h>
#include <lockstep/models/files/zip_file.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/losses/loss.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/metrics/accuracy.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep {
namespace {

Model small_model() {
  const Symbol input = Input({6, 6, 2}, "pictures");
  Symbol x = Conv2D({.filters = 3, .kernel_size = {3, 3}, .activation = Activation::relu, .name = "first"})(input);
  x = Dropout({.rate = 0.5})(Flatten()(BatchNormalization()(x)));
  return {input, Dense({.units = 2})(x), {.name = "small", .seed = 1}};
}

void randomize(const Model& model) {
  unsigned seed = 0;
  for (const Variable& variable : model.variables())
    variable.assign(test::random_tensor(variable.shape(), seed++, 0.5, 1.5));
}

class ModelFiles : public testing::TestWithParam<const ModelFormat*> {
 protected:
  test::TemporaryFolder folder_;
  const std::string name_ = "model" + std::string(GetParam()->extension);
  const std::string file_ = folder_ / name_;
};

// semantics 11.1: checkpoints move freely between numbers of replicas.
TEST_P(ModelFiles, MoveBetweenNumbersOfReplicas) {
  const MirroredStrategy three(logical_cpus(3));
  const Model saved = three.scope([] { return small_model(); });
  randomize(saved);
  save_model(saved, file_);
  for (const int replicas : {1, 2}) {
    const MirroredStrategy strategy(logical_cpus(replicas));
    const Model loaded = strategy.scope([&] { return load_model(file_); });
    EXPECT_EQ(loaded.name(), "small");
    EXPECT_EQ(loaded.summary(), saved.summary());
    EXPECT_EQ(loaded.trainable_variables().size(), 6U);
    ASSERT_EQ(loaded.variables().size(), saved.variables().size());
    for (std::size_t i = 0; i < saved.variables().size(); ++i) {
      const Variable variable = loaded.variables()[i];
      for (const Tensor& copy : variable.state().copies()) test::expect_same_bits(copy, saved.variables()[i].value());
    }
  }
}

TEST_P(ModelFiles, KeepTheStatesOfRecurrentLayers) {
  const Symbol source = Input({5, 2}, "source");
  const Symbol target = Input({3, 4}, "target");
  const std::vector<Symbol> encoded = Bidirectional(GRU({.units = 3, .return_state = true})).results({source});
  const LSTM decoder({.units = 3, .return_sequences = true, .return_state = true});
  const std::vector<Symbol> decoded = decoder.results({target, encoded[1], encoded[2]});
  const Model saved({source, target}, {decoded[2], Dense({.units = 2})(decoded[0]), encoded[0]}, {.seed = 1});
  save_model(saved, file_);
  const Model loaded = load_model(file_);
  EXPECT_EQ(loaded.summary(), saved.summary());
  const std::vector<Tensor> batch{test::random_tensor({4, 5, 2}, 1), test::random_tensor({4, 3, 4}, 2)};
  const std::vector<Tensor> expected = saved.run(batch);
  const std::vector<Tensor> found = loaded.run(batch);
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t i = 0; i < found.size(); ++i) test::expect_same_bits(found[i], expected[i]);
}

TEST_P(ModelFiles, StayTheSameHoweverOftenAParallelModelIsSaved) {
  const Model model = small_model();
  save_model(multi_gpu_model(model, {.devices = {"CPU:0", "CPU:1"}}), file_);
  const std::size_t size = test::contents_of(file_).size();
  const std::string summary = model.summary();
  for (int time = 0; time < 10; ++time) {
    const Model loaded = load_model(file_);
    EXPECT_EQ(loaded.summary(), summary);
    save_model(multi_gpu_model(loaded, {.devices = {"CPU:0", "CPU:1"}}), file_);
    EXPECT_EQ(test::contents_of(file_).size(), size);
  }
}

// Keras splits the list of the optimizer's variables, which is too long for one attribute of an .h5 file.
TEST_P(ModelFiles, HoldAThousandLayersWithWhatTheirOptimizerKnows) {
  std::vector<Layer> layers;
  for (int i = 0; i < 1050; ++i) layers.push_back(Dense({.units = 1}));
  Model saved = Sequential({1}, layers);
  saved.compile(Adam(), MeanSquaredError());
  OptimizerState before{.steps = 1, .learning_rate = 0.001, .slots = {}};
  for (const char* slot : {"momentum", "velocity"}) {
    before.slots.push_back({.name = slot, .values = {}});
    for (const Variable& variable : saved.variables())
      before.slots.back().values.push_back(test::random_tensor(variable.shape(), before.slots.back().values.size()));
  }
  saved.optimizer().load_state(before);
  save_model(saved, file_);
  const Model loaded = load_model(file_);
  EXPECT_EQ(test::weights_of(loaded), test::weights_of(saved));
  const OptimizerState after = loaded.optimizer().state();
  ASSERT_EQ(after.slots.size(), 2U);
  for (std::size_t slot = 0; slot < 2; ++slot)
    for (std::size_t i = 0; i < 2100; ++i)
      EXPECT_EQ(after.slots[slot].values[i].to_vector<float>(), before.slots[slot].values[i].to_vector<float>());
}

/// A model with two results, and a sequential model whose first layer is called twice.
Model nested_model() {
  const Symbol a = Input({4}, "a");
  const Symbol b = Input({4}, "b");
  const Dense shared({.units = 4, .name = "dense"});
  const Symbol sum = Add()({shared(a), shared(b)});
  const Model pair({a, b}, std::vector{Dense({.units = 3, .name = "last"})(sum), sum}, {.name = "pair"});
  const Model row = Sequential({4}, {Dense({.units = 4}), BatchNormalization(), Dense({.units = 2})}, {.name = "row"});
  const Symbol x = Input({4}, "x");
  const Symbol y = Dense({.units = 4, .name = "dense"})(x);
  const std::vector<Symbol> first = pair.run({x, y});
  const std::vector<Symbol> second = pair.run({first[1], x});
  return {std::vector{x}, std::vector{row(second[1]), second[0], first[0]}, {.name = "outer"}};
}

TEST_P(ModelFiles, HoldModelsInTheModel) {
  Model saved = nested_model();
  randomize(saved);
  saved.compile(SGD({.momentum = 0.5}), MeanSquaredError());
  const Tensor x = test::random_tensor({2, 4}, 1);
  const std::vector<Tensor> targets{Tensor::zeros({2, 2}), Tensor::zeros({2, 3}), Tensor::zeros({2, 3})};
  saved.fit(Dataset::from_tensors({{x}, targets}).batch(2));
  save_model(saved, file_);
  const Model loaded = load_model(file_);
  EXPECT_EQ(loaded.summary(), saved.summary());
  EXPECT_THAT(loaded.network().output_names(), testing::ElementsAre("row", "pair", "pair_1"));
  EXPECT_EQ(test::weights_of(loaded), test::weights_of(saved));
  EXPECT_EQ(network_config(saved_keras_model(loaded.network(), "outer")),
            network_config(saved_keras_model(saved.network(), "outer")));
  const OptimizerState before = saved.optimizer().state();
  const OptimizerState after = loaded.optimizer().state();
  for (std::size_t i = 0; i < saved.trainable_variables().size(); ++i)
    test::expect_same_bits(after.slots.at(0).values.at(i), before.slots.at(0).values.at(i));
  for (std::size_t i = 0; i < 3; ++i) test::expect_same_bits(loaded.run({x})[i], saved.run({x})[i]);
}

TEST_P(ModelFiles, HoldWhatNothingReadsOfAModelInTheModel) {
  const Symbol a = Input({4}, "a");
  const Symbol hidden = Dense({.units = 3, .name = "hidden"})(a);
  const Model pair({a}, std::vector{Dense({.units = 4, .name = "read"})(hidden), Dense({.units = 2})(hidden)},
                   {.name = "pair"});
  const Symbol b = Input({4}, "b");
  const Model around(b, pair.run({b})[0], {.name = "around"});
  const Symbol x = Input({4}, "x");
  Model saved(x, Dense({.units = 1})(around(x)), {.name = "outer"});
  ASSERT_EQ(saved.variables().size(), 8U);
  saved.compile(SGD({.momentum = 0.5}), MeanSquaredError());
  const Tensor batch = test::random_tensor({2, 4}, 1);
  saved.fit(Dataset::from_tensors(batch, Tensor::zeros({2, 1})).batch(2));
  save_model(saved, file_);
  const Model loaded = load_model(file_);
  EXPECT_EQ(loaded.summary(), saved.summary());
  EXPECT_EQ(test::weights_of(loaded), test::weights_of(saved));
  EXPECT_EQ(network_config(saved_keras_model(loaded.network(), "outer")),
            network_config(saved_keras_model(saved.network(), "outer")));
  const OptimizerState before = saved.optimizer().state();
  for (std::size_t i = 0; i < saved.trainable_variables().size(); ++i)
    test::expect_same_bits(loaded.optimizer().state().slots.at(0).values.at(i), before.slots.at(0).values.at(i));
  test::expect_same_bits(loaded(batch), saved(batch));
}

// Keras cannot reload the weights of a layer that several models share.
TEST_P(ModelFiles, TakeModelsApartThatShareLayers) {
  const Symbol a = Input({4}, "a");
  const Dense shared({.units = 4, .name = "shared"});
  const Model inner({a}, std::vector{shared(a), Dense({.units = 3, .name = "unread"})(a)}, {.name = "inner"});
  const Symbol x = Input({4}, "x");
  const Model saved(x, Dense({.units = 1, .name = "last"})(shared(inner.run({x})[0])), {.name = "outer"});
  save_model(saved, file_);
  const Model loaded = load_model(file_);
  EXPECT_EQ(loaded.network().layers().size(), 2U) << "no output depends on the layer that nothing reads";
  const Tensor batch = test::random_tensor({2, 4}, 1);
  test::expect_same_bits(loaded(batch), saved(batch));
}

TEST_P(ModelFiles, HaveNamesThatKeras3Takes) {
  const Symbol x = Input({2}, "in/x");
  Model saved(x, Dense({.units = 2, .name = "block/dense"})(Dense({.units = 2, .name = "block_dense"})(x)),
              {.name = "a/model"});
  saved.compile(Adam(), MeanSquaredError());
  saved.fit(Dataset::from_tensors(Tensor::full({2, 2}, 1), Tensor::zeros({2, 2})).batch(2));
  save_model(saved, file_);
  const Model loaded = load_model(file_);
  EXPECT_EQ(loaded.name(), "a_model");
  EXPECT_EQ(loaded.network().inputs()[0].name, "in_x");
  EXPECT_EQ(loaded.network().layers()[1].name(), "block_dense_1");
  EXPECT_EQ(test::weights_of(loaded), test::weights_of(saved));
  EXPECT_EQ(loaded.optimizer().state().slots.size(), 2U);
}

TEST_P(ModelFiles, HaveNamesThatHdf5Takes) {
  const Symbol x = Input({2}, "vars");
  const Model saved(x, Dense({.units = 2, .name = "."})(Dense({.units = 2, .name = "top_level_model_weights"})(x)));
  save_model(saved, file_);
  EXPECT_EQ(test::weights_of(load_model(file_)), test::weights_of(saved));
}

TEST_P(ModelFiles, HaveNoNamesInLatin1) {
  const Symbol input = Input({2});
  const Model model(input, Dense({.units = 1, .name = "caf\xe9"})(input));
  EXPECT_ERROR(InvalidArgument, "is not UTF-8", model.check_can_be_saved(file_));
  EXPECT_ERROR(InvalidArgument, "is not UTF-8", model.save(file_));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_P(ModelFiles, LoseTheNameOfAnAccuracyWithAWarning) {
  Model model = small_model();
  model.compile(SGD(), BinaryCrossentropy(), {Accuracy().with_name("top1")});
  testing::internal::CaptureStderr();
  model.check_can_be_saved(file_);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  model.save(file_);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("the metric 'top1' is saved as 'accuracy'"));
}

TEST_P(ModelFiles, NameWhatIsWrong) {
  EXPECT_ERROR(InputError, file_ + ": there is no such file", load_model(file_));
  test::write_text(file_, "text");
  EXPECT_ERROR(InputError, file_ + ": ", load_model(file_));
  EXPECT_ERROR(InputError, "nowhere", save_model(small_model(), folder_ / ("nowhere/" + name_)));
  const MirroredStrategy two(logical_cpus(2));
  EXPECT_ERROR(LogicError, "call it outside a replica", two.run([&] { load_model(file_); }));
}

INSTANTIATE_TEST_SUITE_P(Formats, ModelFiles, testing::ValuesIn(model_formats));

// Before 2.12, Keras 2 wrote the legacy format to all files.
TEST(ModelFileFormats, OfAKerasFileCanBeTheLegacyOne) {
  const test::TemporaryFolder folder;
  const Model saved = small_model();
  save_model(saved, folder / "model.h5");
  std::filesystem::rename(folder / "model.h5", folder / "model.keras");
  EXPECT_EQ(test::weights_of(load_model(folder / "model.keras")), test::weights_of(saved));
}

// The size of the weights is checked against the file before memory is allocated.
TEST(ModelFileWeights, AreNotMoreThanTheFileHolds) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "model.keras";
  const Symbol input = Input({1000}, "x");
  save_model(Model(input, Dense({.units = 7, .use_bias = false, .name = "wide"})(input)), file);
  const std::vector<std::byte> weights = read_zip_entry(file, "model.weights.h5");
  const std::vector<std::byte> bytes = read_zip_entry(file, "config.json");
  std::string config(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  config.replace(config.find("\"units\":7"), 9, "\"units\":1000000000");
  write_file_atomically(file, make_zip(std::vector<ZipEntry>{{"config.json", std::as_bytes(std::span(config))},
                                                             {"model.weights.h5", weights}}));
  EXPECT_ERROR(
      InputError,
      file + ": layer 'wide': its weight 'wide/kernel' is (1000, 1000000000), which is more than the file can hold",
      load_model(file));
}

TEST(ModelFileNames, SayTheFormat) {
  EXPECT_ERROR(InvalidArgument, "model.txt: the extension of a model's file says its format",
               save_model(small_model(), "model.txt"));
  EXPECT_ERROR(InvalidArgument, "model: the extension", load_model("model"));
}

}  // namespace
}  // namespace lockstep
