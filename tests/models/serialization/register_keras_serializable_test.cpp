#include <atomic>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/custom_classes.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/files/zip_file.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/serialization/operations.h>
#include <lockstep/models/serialization/symbolic_model.h>
#include <lockstep/models/serialization/weights_h5.h>
#include <lockstep/models/training/callbacks/backup_and_restore.h>
#include <lockstep/models/training/callbacks/model_checkpoint.h>
#include <lockstep/models/training/clone_model.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

// Classes of a program in files of whole models. tests/interop/files_interop.py exchanges such files with Keras.

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

using test::gain;
using test::HeavyBall;
using test::NegatedImpl;
using test::PowerError;
using test::PowerLoss;
using test::Residual;

/// The classes alone, in a nested model, in each other and in Keras' layers.
Model model_of_own_classes() {
  const Model inner = Sequential(
      {4, 3}, {gain({.factor = 0.5, .name = "mine"}), Layer(std::make_shared<NegatedImpl>())}, {.name = "inner"});
  const Symbol x = Input({4, 3}, "x");
  const Symbol steps = TimeDistributed(gain({.factor = 2}))(x);
  const Symbol y = Residual({.inner = Dense({.units = 3}).shared()})(inner(steps));
  const Symbol z = Residual({.name = "second", .inner = gain({.factor = 3}).shared()})(inner(y));
  return {x, Dense({.units = 2})(Flatten()(Add()({y, z}))), {.name = "outer", .seed = 1}};
}

void randomize_all(const Model& model) {
  unsigned seed = 0;
  for (const Variable& variable : model.variables())
    variable.assign(test::random_tensor(variable.shape(), seed++, 0.5, 1.5));
}

Dataset training_data() {
  return Dataset::from_tensors(test::random_tensor({8, 4, 3}, 1), test::random_tensor({8, 2}, 2)).batch(4);
}

void compile(Model& model) {
  model.compile(HeavyBall({.learning_rate = 0.0625, .decay = 0.75}, {.clipvalue = 0.5}), PowerLoss({.power = 3}),
                {PowerError({.power = 1}), PowerError({.power = 2}).with_name("squares")});
}

void expect_same_weights(const Model& a, const Model& b) {
  ASSERT_EQ(a.variables().size(), b.variables().size());
  for (std::size_t i = 0; i < a.variables().size(); ++i)
    test::expect_same_bits(a.variables()[i].value(), b.variables()[i].value());
}

class OwnClasses : public testing::TestWithParam<const ModelFormat*> {
 protected:
  OwnClasses() { test::register_classes(); }
  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / ("model" + std::string(GetParam()->extension));
};

TEST_P(OwnClasses, AreSavedAndTrainedOnAfterLoading) {
  const MirroredStrategy two(logical_cpus(2));
  Model saved = two.scope([] { return model_of_own_classes(); });
  randomize_all(saved);
  compile(saved);
  saved.fit(training_data());
  save_model(saved, file_);
  Model loaded = two.scope([&] { return load_model(file_); });
  EXPECT_EQ(loaded.summary(), saved.summary());
  expect_same_weights(loaded, saved);
  EXPECT_EQ(loaded.optimizer().get_config(), saved.optimizer().get_config());
  const auto of_loaded = loaded.fit(training_data(), {.epochs = 2}).values;
  const auto of_saved = saved.fit(training_data(), {.epochs = 2}).values;
  for (const char* name : {"loss", "power_error", "squares"}) EXPECT_EQ(of_loaded.at(name), of_saved.at(name)) << name;
  expect_same_weights(loaded, saved);
  const std::string once = test::contents_of(file_);
  two.scope([&] { return load_model(file_); }).save(file_);
  EXPECT_EQ(test::contents_of(file_).size(), once.size());
}

TEST_P(OwnClasses, KeepTheOptimizerOfAModelWithFrozenLayers) {
  Model saved = model_of_own_classes();
  compile(saved);
  saved.fit(training_data());
  saved.get_layer("second").impl().set_trainable(false);
  save_model(saved, file_);  // makes an optimizer without state
  const Model loaded = load_model(file_);
  EXPECT_EQ(loaded.optimizer().get_config(), saved.optimizer().get_config());
  EXPECT_FALSE(loaded.get_layer("second").impl().trainable());
}

TEST_P(OwnClasses, OfAnyKindMustBeRegisteredBeforeTheyAreSaved) {
  struct Unknown : NegatedImpl {
    std::string_view class_name() const override { return "Unknown"; }
  };
  struct Undescribed : Unknown {
    void describe(LayerConfig& config) const override { LayerImpl::describe(config); }
  };
  struct OtherRule : test::HeavyBallRule {
    OtherRule() : test::HeavyBallRule({}) {}
    ObjectConfig config() const override { return {"OtherRule"}; }
  };
  struct Other : Optimizer {
    Other() : Optimizer(0.1, std::make_unique<OtherRule>(), {}) {}
  };
  const auto saves = [&](const Layer& layer) { save_model(Sequential({3}, {layer}), file_); };
  EXPECT_ERROR(Unsupported,
               "files of whole models cannot hold layer 'unknown' of the custom class Unknown; register the class with "
               "register_keras_serializable, or save only the weights",
               saves(Layer(std::make_shared<Unknown>())));
  EXPECT_ERROR(Unsupported, "cannot hold layer 'inside' of the custom class Unknown; register the class with", {
    const auto inside = std::make_shared<Unknown>();
    inside->set_name("inside");
    saves(Residual({.inner = inside}));
  });
  EXPECT_ERROR(Unsupported, "layer 'unknown' of the custom class Unknown; override its describe and register it with",
               saves(Layer(std::make_shared<Undescribed>())));
  const auto saves_compiled = [&](const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics) {
    Model model = Sequential({3}, {Dense({.units = 1})});
    model.compile(optimizer, loss, metrics);
    save_model(model, file_);
  };
  const ObjectConfig unknown{"Unknown"};
  EXPECT_ERROR(Unsupported, "cannot hold the optimizer of the custom class OtherRule; register the class with",
               saves_compiled(Other(), MeanSquaredError(), {}));
  EXPECT_EQ(Json::parse(Other().get_config())["name"], "other_rule");
  const Loss loss(
      "mine", [](const Tensor& a, const Tensor& b) { return test::mean_power(a, b, 1); }, unknown);
  EXPECT_ERROR(Unsupported, "cannot hold the loss 'mine' of the custom class Unknown; register the class with",
               saves_compiled(SGD(), loss, {}));
  const MeanMetricWrapper metric(
      "mine", [](const Tensor&, const Tensor&) { return std::vector<double>(); }, Direction::up, unknown);
  EXPECT_ERROR(Unsupported, "cannot hold the metric 'mine' of the custom class Unknown; register the class with",
               saves_compiled(SGD(), MeanSquaredError(), {metric}));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

INSTANTIATE_TEST_SUITE_P(Formats, OwnClasses, testing::ValuesIn(model_formats),
                         [](const auto& format) { return std::string(format.param->extension).substr(1); });

class OwnClass : public testing::Test {
 protected:
  OwnClass() { test::register_classes(); }
};

// Keras 3.15 writes these objects for Python classes of the main program.
TEST_F(OwnClass, HasKerasForms) {
  const Model model = model_of_own_classes();
  const NestedModel whole = keras_model(model.network(), "outer");
  const auto entry = [&](ConfigForm form, const std::string& name) {
    const Json config = network_config(whole, form);
    for (const Json& layer : config["config"]["layers"])
      if (layer["config"]["name"] == name) return layer;
    return Json();
  };
  const Json dtype = Json::parse(R"({"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"},
      "registered_name": null})");
  const auto gain_config = [&](const char* name, double factor) {
    return Json{{"name", name}, {"trainable", true}, {"dtype", dtype}, {"factor", factor}};
  };
  const auto inner_gain = [&](const char* name, double factor) {
    return Json{{"module", nullptr},
                {"class_name", "Gain"},
                {"config", gain_config(name, factor)},
                {"registered_name", "tests>Gain"}};
  };
  Json second = entry(ConfigForm::keras_3, "second");
  EXPECT_EQ(second["module"], nullptr);
  EXPECT_EQ(second["class_name"], "Residual");
  EXPECT_EQ(second["registered_name"], "tests>OtherName");
  EXPECT_EQ(second["config"]["inner"], inner_gain("gain", 3));
  EXPECT_EQ(entry(ConfigForm::keras_3, "inner")["config"]["layers"][1], [&] {
    Json layer = inner_gain("mine", 0.5);
    layer["name"] = "mine";
    layer["inbound_nodes"] = Json::array();
    return layer;
  }());
  second = entry(ConfigForm::legacy_h5, "second");
  EXPECT_EQ(second["class_name"], "tests>OtherName");
  EXPECT_FALSE(second.contains("module") || second.contains("registered_name"));
  EXPECT_EQ(second["config"]["inner"], inner_gain("gain", 3)) << "layers in layers have Keras 3's form";
  EXPECT_EQ(entry(ConfigForm::legacy_h5, "inner")["config"]["layers"][1]["class_name"], "tests>Gain");

  const auto object = [&](const char* class_name, const Json& config) {
    return Json{{"module", nullptr},
                {"class_name", class_name},
                {"config", config},
                {"registered_name", std::string("tests>") + class_name}};
  };
  const PowerLoss loss({.power = 3});
  EXPECT_EQ(loss_json(loss, ConfigForm::keras_3),
            object("PowerLoss", {{"power", 3.0}, {"name", "power_loss"}, {"reduction", "sum_over_batch_size"}}));
  EXPECT_EQ(loss_json(loss, ConfigForm::legacy_h5)["class_name"], "tests>PowerLoss");
  EXPECT_EQ(metric_json(PowerError(), ConfigForm::keras_3),
            object("PowerError", {{"power", 4.0}, {"name", "power_error"}}));
  EXPECT_EQ(metric_json(MeanMetricWrapper(loss), ConfigForm::legacy_h5), "power_loss") << "Keras has no such metric";
  EXPECT_EQ(optimizer_json(HeavyBall({.learning_rate = 0.5}), ConfigForm::keras_3)["registered_name"],
            "tests>HeavyBall");
  EXPECT_EQ(optimizer_json(HeavyBall({}), ConfigForm::legacy_h5)["class_name"], "tests>HeavyBall");
}

TEST_F(OwnClass, HasTheGroupOfItsClassNameInKerasFiles) {
  const test::TemporaryFolder folder;
  const Model saved = model_of_own_classes();
  randomize_all(saved);
  save_model(saved, folder / "model.keras");
  const std::vector<std::byte> weights = read_zip_entry(folder / "model.keras", keras_weights_entry);
  const hdf5::Reader file("model.keras", weights);
  EXPECT_THAT(file.names_in("layers"),
              testing::UnorderedElementsAre("input_layer", "time_distributed", "sequential", "residual", "residual_1",
                                            "add", "flatten", "dense"));
  EXPECT_EQ(file.shape_of("layers/residual/inner/vars/0"), Shape({3, 3}));
  EXPECT_EQ(file.shape_of("layers/residual_1/inner/vars/0"), Shape({3}));
  EXPECT_EQ(file.shape_of("layers/sequential/layers/gain/vars/0"), Shape({3}));
}

/// A Sequential model of one layer in Keras 3's form.
Json sequential_of(const Json& layer) {
  return {{"module", "keras"},
          {"class_name", "Sequential"},
          {"registered_name", nullptr},
          {"config",
           {{"name", "line"},
            {"layers",
             {{{"module", "keras.layers"},
               {"class_name", "InputLayer"},
               {"config", {{"name", "x"}, {"batch_shape", {nullptr, 3}}}}},
              layer}}}}};
}

Json gain_layer(const char* class_name, const Json& registered, const Json& config) {
  return {{"module", "my.python"}, {"class_name", class_name}, {"config", config}, {"registered_name", registered}};
}

TEST_F(OwnClass, IsFoundByTheRegisteredNameOrIfThereIsNoneByItsClassName) {
  const Json config{{"name", "g"}, {"factor", 2}};
  const std::vector<Json> found{gain_layer("Renamed", "tests>Gain", config), gain_layer("Gain", "Gain", config),
                                gain_layer("tests>Gain", nullptr, config)};
  for (const Json& layer : found) {
    const SymbolicModel model = model_from_config(sequential_of(layer));
    EXPECT_EQ(Json::parse(model.layers.at(0).layer.get_config())["factor"], 2.0) << layer;
  }
  EXPECT_EQ(model_from_config(sequential_of(found[0])).layers.at(0).group, "layers/renamed");
  EXPECT_ERROR(InputError, "layer 'g' is of class others>Gain; known are Activation, ",
               model_from_config(sequential_of(gain_layer("Gain", "others>Gain", config))));
  EXPECT_ERROR(
      InputError,
      "ZeroPadding2D, CustomScaleLayer, LayerScale, StochasticDepth, tests>Gain, tests>OtherName, tests>Negated",
      model_from_config(sequential_of(gain_layer("Unregistered", nullptr, config))));
  EXPECT_ERROR(InputError, "; programs register their own with register_keras_serializable",
               model_from_config(sequential_of(gain_layer("Unregistered", nullptr, config))));
  EXPECT_ERROR(InputError, "layer 'g' (tests>Gain): factor cannot be \"two\"; it must be a number",
               model_from_config(sequential_of(gain_layer("Gain", "tests>Gain", {{"name", "g"}, {"factor", "two"}}))));
  EXPECT_ERROR(InputError, "layer 'g' (tests>Negated): other cannot be 2; it must be left out",
               model_from_config(sequential_of(gain_layer("Negated", "tests>Negated", {{"name", "g"}, {"other", 2}}))));
}

// Keras' guide to saving has a class whose config is its own option alone.
TEST_F(OwnClass, IsReadFromAConfigWithoutKerasOptions) {
  Json model = sequential_of(gain_layer("Gain", "tests>Gain", {{"factor", 2}}));
  Json& layers = model["config"]["layers"];
  layers.push_back(layers[1]);
  layers.push_back(gain_layer("Negated", "tests>Negated", {{"activity_regularizer", nullptr}, {"autocast", true}}));
  std::vector<std::string> names;
  for (const SavedLayer& saved : model_from_config(model).layers) names.push_back(saved.layer.name());
  EXPECT_THAT(names, testing::ElementsAre("gain", "gain_1", "negated"));
  const Json inner = gain_layer("Gain", "tests>Gain", {{"factor", 2}});
  const SymbolicModel outer =
      model_from_config(sequential_of(gain_layer("Residual", "tests>OtherName", {{"inner", inner}})));
  EXPECT_EQ(Json::parse(outer.layers.at(0).layer.get_config())["inner"]["config"]["name"], "gain");
}

// Without autocast, Keras casts neither the inputs nor the weights of a layer to bf16.
TEST_F(OwnClass, WithoutAutocastComputesInF32) {
  const auto dtype_of = [](const Json& autocast) {
    Json config{{"dtype", "mixed_bfloat16"}, {"factor", 2}};
    if (!autocast.is_null()) config["autocast"] = autocast;
    return model_from_config(sequential_of(gain_layer("Gain", "tests>Gain", config)))
        .layers.at(0)
        .layer.impl()
        .compute_dtype();
  };
  EXPECT_EQ(dtype_of(nullptr), DType::bf16);
  EXPECT_EQ(dtype_of(true), DType::bf16);
  EXPECT_EQ(dtype_of(false), DType::f32);
  EXPECT_ERROR(InputError, "layer 'gain' (tests>Gain): autocast cannot be \"no\"; it must be true or false",
               dtype_of("no"));
}

// An option of a custom layer may have a name that has a meaning in the config of a model.
TEST_F(OwnClass, MayHaveAnOptionCalledLayers) {
  struct StackOptions {
    std::int64_t layers = 2;
    std::string name{};
    void describe(LayerConfig& config) { config.option("layers", layers); }
  };
  struct StackImpl : NegatedImpl {
    explicit StackImpl(const StackOptions& options) : options_(options) { set_name(options.name); }
    std::string_view class_name() const override { return "Stack"; }
    void describe(LayerConfig& config) const override { write_options(config, options_); }
    StackOptions options_;
  };
  register_keras_serializable<StackImpl>("tests", "Stack");
  const test::TemporaryFolder folder;
  for (const ModelFormat* const format : model_formats) {
    const std::string file = folder / ("stack" + std::string(format->extension));
    save_model(Sequential({3}, {Layer(std::make_shared<StackImpl>(StackOptions{.layers = 5})), Dense({.units = 1})}),
               file);
    EXPECT_EQ(Json::parse(load_model(file).network().layers()[0].get_config())["layers"], 5);
  }
}

/// A Gain with an option that has a meaning in the config of a model.
class ListedImpl : public test::GainImpl {
 public:
  explicit ListedImpl(const std::string& name) : GainImpl({.name = name}) {}
  static std::shared_ptr<ListedImpl> from_config(LayerConfig& config) {
    config.passed_over("layers");
    return std::make_shared<ListedImpl>(config.name());
  }
  std::string_view class_name() const override { return "Listed"; }
  void describe(LayerConfig& config) const override {
    std::vector<std::int64_t> layers{4, 5, 6};
    config.option("layers", layers);
  }
};

// The weights of layers that were trained come first in .h5 files.
TEST_F(OwnClass, WithAnOptionCalledLayersMayBeFrozenInALegacyFile) {
  register_keras_serializable<ListedImpl>("tests", "Listed");
  const auto make = [] {
    const Model inner = Sequential({3}, {Layer(std::make_shared<ListedImpl>("frozen")), Dense({.units = 2})});
    const Symbol input = Input({3});
    return Model(input, inner(input));
  };
  const test::TemporaryFolder folder;
  const Model saved = make();
  randomize_all(saved);
  saved.get_layer("frozen").impl().set_trainable(false);
  save_model(saved, folder / "frozen.h5");
  Model loaded = make();
  loaded.load_weights(folder / "frozen.h5");
  expect_same_weights(loaded, saved);
}

TEST_F(OwnClass, MustBeRegisteredBeforeATrainingThatSavesTheModel) {
  struct OtherRule : test::HeavyBallRule {
    OtherRule() : test::HeavyBallRule({}) {}
    ObjectConfig config() const override { return {"OtherRule"}; }
  };
  struct Other : Optimizer {
    Other() : Optimizer(0.1, std::make_unique<OtherRule>(), {}) {}
  };
  const test::TemporaryFolder folder;
  Model model = Sequential({4, 3}, {Flatten(), Dense({.units = 2})});
  model.compile(Other(), MeanSquaredError());
  const auto fit = [&](const std::string& file) {
    model.fit(training_data(), {.callbacks = {std::make_shared<ModelCheckpoint>(folder / file)}});
  };
  for (const char* const file : {"{epoch}.keras", "{epoch}.h5"})
    EXPECT_ERROR(Unsupported, "cannot hold the optimizer of the custom class OtherRule; register the class", fit(file));
  EXPECT_EQ(model.optimizer().iterations(), 0);
  fit("{epoch}.weights.h5");
  EXPECT_TRUE(std::filesystem::exists(folder / "1.weights.h5"));
}

TEST_F(OwnClass, IsCopiedByCloneModelAndCallbacks) {
  const test::TemporaryFolder folder;
  Model model = model_of_own_classes();
  EXPECT_EQ(clone_model(model).summary(), model.summary());
  compile(model);
  model.fit(training_data(), {.epochs = 2,
                              .callbacks = {std::make_shared<ModelCheckpoint>(folder / "best.keras"),
                                            std::make_shared<BackupAndRestore>(folder / "backup")}});
  expect_same_weights(load_model(folder / "best.keras"), model);
}

TEST_F(OwnClass, OfAHandleWithoutOptionsHasTheNameInTheFile) {
  struct OppositeImpl : NegatedImpl {
    std::string_view class_name() const override { return "Opposite"; }
  };
  struct Opposite : Layer {
    Opposite() : Layer(std::make_shared<OppositeImpl>()) {}
  };
  register_keras_serializable<Opposite>("tests", "Opposite");
  Json layer = gain_layer("Opposite", "tests>Opposite", {{"name", "g"}});
  EXPECT_EQ(model_from_config(sequential_of(layer)).layers.at(0).layer.name(), "g");
  layer["config"]["other"] = 2;
  EXPECT_ERROR(InputError, "layer 'g' (tests>Opposite): other cannot be 2; it must be left out",
               model_from_config(sequential_of(layer)));
}

TEST_F(OwnClass, HasNoOptionThatMeansSomethingElseInFiles) {
  const auto with = [](const char* class_name, const char* option) {
    return ObjectConfig{class_name, ObjectConfig::copy_of({{option, 1}})};
  };
  EXPECT_ERROR(Unsupported, "the loss 'own': its class PowerLoss has an option named reduction, as all classes",
               loss_json(Loss("own", nullptr, with("PowerLoss", "reduction")), ConfigForm::keras_3));
  EXPECT_ERROR(Unsupported, "the metric 'own': its class PowerError has an option named dtype, as all classes",
               metric_json(MeanMetricWrapper("own", nullptr, Direction::down, with("PowerError", "dtype")),
                           ConfigForm::legacy_h5));
  struct DecayRule : test::HeavyBallRule {
    DecayRule() : HeavyBallRule({}) {}
    ObjectConfig config() const override { return {"HeavyBall", ObjectConfig::copy_of({{"weight_decay", 0.1}})}; }
  };
  struct Decaying : Optimizer {
    Decaying() : Optimizer(0.1, std::make_unique<DecayRule>(), {}) {}
  };
  EXPECT_ERROR(Unsupported, "the optimizer: its class HeavyBall has an option named weight_decay, as all classes",
               optimizer_json(Decaying(), ConfigForm::keras_3));
}

TEST_F(OwnClass, IsFoundAmongCustomObjectsByItsNameWithoutThePackage) {
  const Json dice{{"class_name", "DiceBCE"}, {"registered_name", "my>DiceBCE"}, {"config", {{"name", "dice_bce"}}}};
  EXPECT_EQ(loss_from_json(dice, {Loss("DiceBCE", nullptr)}).name(), "DiceBCE");
}

// "Custom" is the default package of Keras' decorator, and TensorFlow 2.11 wrote Keras' own optimizers with it.
TEST_F(OwnClass, IsFoundBeforeAnOptimizerOfKeras) {
  register_keras_serializable<HeavyBall>("Custom", "OwnFtrl", "Ftrl");
  const Json saved{{"class_name", "Custom>Ftrl"}, {"config", {{"decay", 0.5}}}};
  EXPECT_EQ(optimizer_from_json(saved).config().rule.class_name, "HeavyBall");
}

// The config that such a Python class returns looks like that of an operation.
TEST_F(OwnClass, IsNoOperation) {
  Json layer = gain_layer("Gain", "Gain", {{"name", "g"}, {"factor", 2}});
  layer["inbound_nodes"] = Json::array({{{"args", Json::array()}, {"kwargs", Json::object()}}});
  EXPECT_FALSE(is_operation(layer));
  layer["class_name"] = layer["registered_name"] = "Add1";
  EXPECT_TRUE(is_operation(layer));
}

template <int i>
struct Numbered : PowerLoss {};

TEST_F(OwnClass, IsRegisteredAndFoundByManyThreads) {
  const Json gain_model = sequential_of(gain_layer("Gain", "tests>Gain", {{"name", "g"}}));
  std::atomic<int> opened = 0;
  const auto work = [&]<int... i>(std::integer_sequence<int, i...>) {
    for (int time = 0; time < 20; ++time) {
      (register_keras_serializable<Numbered<i>>("threads", "Numbered" + std::to_string(i)), ...);
      opened += static_cast<int>(model_from_config(gain_model).layers.size());
    }
  };
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) threads.emplace_back([&] { work(std::make_integer_sequence<int, 8>()); });
  threads.clear();
  EXPECT_EQ(opened, 80);
  for (int i = 0; i < 8; ++i) EXPECT_NE(loss_classes().find("threads>Numbered" + std::to_string(i)), nullptr);
}

}  // namespace
}  // namespace lockstep
