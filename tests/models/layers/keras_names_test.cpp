#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/tensors.h>

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/keras_names.h>

namespace lockstep::test {
namespace {

using Json = nlohmann::ordered_json;

void expect_written(const SeededInitializer& initializer, const char* class_name, const Json& options) {
  const Json written = initializer_config(initializer);
  EXPECT_EQ(written["class_name"], class_name);
  EXPECT_EQ(written["config"], options);
  const Tensor before = Tensor::empty({9, 70});
  const Tensor after = Tensor::empty({9, 70});
  initializer({.seed = 3})(before);
  find_initializer(written)({.seed = 3})(after);
  expect_same_bits(after, before);
}

TEST(KerasNames, OfInitializersHaveTheirOptions) {
  expect_written(he_normal, "HeNormal", Json::object());
  expect_written(random_normal({.mean = 1, .stddev = 0.25}), "RandomNormal", {{"mean", 1.0}, {"stddev", 0.25}});
  expect_written(truncated_normal({.stddev = 2}), "TruncatedNormal", {{"mean", 0.0}, {"stddev", 2.0}});
  expect_written(random_uniform({.minval = -1, .maxval = 3}), "RandomUniform", {{"minval", -1.0}, {"maxval", 3.0}});
  for (const auto& [distribution, name] :
       {std::pair(Distribution::truncated_normal, "truncated_normal"),
        std::pair(Distribution::untruncated_normal, "untruncated_normal"), std::pair(Distribution::uniform, "uniform")})
    expect_written(variance_scaling({.scale = 3, .mode = FanMode::fan_out, .distribution = distribution}),
                   "VarianceScaling", {{"scale", 3.0}, {"mode", "fan_out"}, {"distribution", name}});
  expect_written(orthogonal(), "Orthogonal", {{"gain", 1.0}});
  expect_written(orthogonal({.gain = 3}), "Orthogonal", {{"gain", 3.0}});
  expect_written(constant(0.5), "Constant", {{"value", 0.5}});
}

TEST(KerasNames, OfInitializersWithOtherOptionsAreUnknown) {
  const auto is_known = [](const char* class_name, const char* options) {
    return static_cast<bool>(find_initializer({{"class_name", class_name}, {"config", Json::parse(options)}}));
  };
  EXPECT_TRUE(is_known("GlorotUniform", R"({"seed": 3, "dtype": "float32", "input_axes": null})"));
  EXPECT_FALSE(is_known("GlorotUniform", R"({"input_axes": [0], "output_axes": [1]})"));
  EXPECT_FALSE(is_known("VarianceScaling", R"({"scale": 1.0, "input_axes": [0]})"));
  EXPECT_FALSE(is_known("Orthogonal", R"({"gain": "3"})"));
}

TEST(KerasNames, OfActivationsAreReadAgain) {
  for (int number = 0; number <= static_cast<int>(Activation::sparse_sigmoid); ++number) {
    const auto activation = static_cast<Activation>(number);
    const Json written = activation_config(activation);
    EXPECT_EQ(written.is_null(), activation == Activation::keras_2_hard_sigmoid);
    if (written.is_null()) continue;
    EXPECT_EQ(find_activation(written), activation) << written;
  }
  const auto gelu = [](const char* options) {
    return find_activation({{"class_name", "Gelu"}, {"config", Json::parse(options)}});
  };
  EXPECT_EQ(gelu(R"({"name": "gelu_1", "approximate": true})"), Activation::gelu_tanh);
  EXPECT_EQ(gelu(R"({"approximate": false})"), Activation::gelu);
  EXPECT_EQ(gelu("{}"), Activation::gelu_tanh);
  EXPECT_EQ(find_activation("Gelu"), std::nullopt);
  const auto layer = [](const char* class_name, const char* options) {
    return find_activation({{"class_name", class_name}, {"config", Json::parse(options)}});
  };
  EXPECT_EQ(layer("ReLU", R"({"max_value": null, "negative_slope": 0.0, "threshold": 0.0})"), Activation::relu);
  EXPECT_EQ(layer("ReLU", R"({"max_value": 6.0, "negative_slope": 0.0, "threshold": 0.0})"), Activation::relu6);
  EXPECT_EQ(layer("ReLU", R"({"max_value": 1.0})"), std::nullopt);
  EXPECT_EQ(layer("ReLU", R"({"negative_slope": 0.5})"), std::nullopt);
  EXPECT_EQ(layer("LeakyReLU", R"({"negative_slope": 0.2})"), Activation::leaky_relu);
  EXPECT_EQ(layer("LeakyReLU", R"({"negative_slope": 0.1})"), std::nullopt);
  EXPECT_EQ(layer("ELU", R"({"alpha": 1.0})"), Activation::elu);
  EXPECT_EQ(layer("ELU", R"({"alpha": 0.5})"), std::nullopt);
  EXPECT_EQ(layer("Softmax", R"({"axis": -1})"), Activation::softmax);
  EXPECT_EQ(layer("PReLU", "{}"), std::nullopt);
}

TEST(KerasNames, OfOwnInitializersAreMissing) {
  EXPECT_TRUE(initializer_config([](const RandomKey&) { return zeros(); }).is_null());
}

}  // namespace
}  // namespace lockstep::test
