#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/custom_classes.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/layers/application_layers.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/symbolic_model.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>

// The names under which programs register their classes.

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

using test::HeavyBall;
using test::NegatedImpl;
using test::PowerError;
using test::PowerLoss;

class OwnSequentialImpl : public NegatedImpl {
 public:
  std::string_view class_name() const override { return "Sequential"; }
};
class OwnLayerScaleImpl : public NegatedImpl {
 public:
  std::string_view class_name() const override { return "LayerScale"; }
};
struct HuberMetric : MeanMetricWrapper {
  HuberMetric()
      : MeanMetricWrapper(
            "own",
            [](const Tensor& y_true, const Tensor&) {
              return std::vector<double>(static_cast<std::size_t>(y_true.dim(0)), 7.0);
            },
            Direction::down, ObjectConfig{"Huber"}) {}
};

// Keras has models, layers in keras.applications, and losses of these names, but no such layers and metrics.
TEST(RegisteredNames, MayHaveANameThatKerasHasForAnotherKind) {
  register_keras_serializable<OwnSequentialImpl>("tests", "Sequential");
  register_keras_serializable<OwnLayerScaleImpl>("tests", "LayerScale");
  register_keras_serializable<HuberMetric>("tests", "Huber");
  const test::TemporaryFolder folder;
  const Tensor x = test::random_tensor({4, 3}, 1);
  const Model inner = Sequential({3}, {Layer(std::make_shared<OwnSequentialImpl>()), Dense({.units = 3})});
  const Symbol input = Input({3});
  Model saved(input, LayerScale({.projection_dim = 3})(Layer(std::make_shared<OwnLayerScaleImpl>())(inner(input))));
  saved.compile(SGD(), Huber(), {HuberMetric(), MeanMetricWrapper(Huber())});
  for (const ModelFormat* const format : model_formats) {
    const std::string file = folder / ("model" + std::string(format->extension));
    save_model(saved, file);
    Model loaded = load_model(file);
    test::expect_same_bits(loaded.predict(x), saved.predict(x));
    const Logs logs = loaded.evaluate(x, x);
    EXPECT_EQ(logs.at("own"), 7);
    EXPECT_NEAR(logs.at("huber_loss"), logs.at("loss"), 1e-6);
  }
  const auto is_own = [](const Json& registered, const Json& config) {
    const Json input{{"class_name", "InputLayer"}, {"config", {{"name", "x"}, {"batch_shape", {nullptr, 3}}}}};
    const Json layer{{"class_name", "LayerScale"}, {"registered_name", registered}, {"config", config}};
    const Json model{{"class_name", "Sequential"}, {"config", {{"name", "line"}, {"layers", {input, layer}}}}};
    return dynamic_cast<OwnLayerScaleImpl*>(model_from_config(model).layers.at(0).layer.shared().get()) != nullptr;
  };
  EXPECT_TRUE(is_own("tests>LayerScale", {{"name", "own"}}));
  EXPECT_FALSE(is_own("LayerScale", {{"name", "of_convnext"}, {"projection_dim", 3}}));
}

TEST(RegisteredNames, AreGivenOnce) {
  for (int time = 0; time < 2; ++time) test::register_classes();
  EXPECT_ERROR(InvalidArgument,
               "the class 'Negated2' cannot be registered as tests>Gain: another class, 'Gain', is registered as "
               "tests>Gain",
               register_keras_serializable<NegatedImpl>("tests", "Negated2", "Gain"));
  EXPECT_ERROR(InvalidArgument, "the class 'Gain' cannot be registered as others>Gain: another class, 'Gain', is",
               register_keras_serializable<test::GainImpl>("others", "Gain"));
  EXPECT_ERROR(InvalidArgument, "the class 'Gain' cannot be registered as tests>Gain: another class, 'Gain', is",
               register_keras_serializable<NegatedImpl>("tests", "Gain"));
  EXPECT_ERROR(InvalidArgument, "the class 'Dense' cannot be registered as tests>Dense: give it a class_name that no",
               register_keras_serializable<NegatedImpl>("tests", "Dense"));
  EXPECT_ERROR(InvalidArgument, "the class 'Hinge' cannot be registered as tests>Mine: give it a class_name that no",
               register_keras_serializable<PowerError>("tests", "Hinge", "Mine"));
  EXPECT_ERROR(InvalidArgument, "the class '' cannot be registered as tests>Mine: give it a class_name",
               register_keras_serializable<HeavyBall>("tests", "", "Mine"));
  EXPECT_ERROR(InvalidArgument, "under a package and a name without '>', got 'a>b' and 'Mine'",
               register_keras_serializable<PowerLoss>("a>b", "Mine"));
  EXPECT_ERROR(InvalidArgument, "under a package and a name without '>', got '' and 'Mine'",
               register_keras_serializable<PowerLoss>("", "Mine"));
}

}  // namespace
}  // namespace lockstep
