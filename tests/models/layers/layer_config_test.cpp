#include <nlohmann/json.hpp>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_registry.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

using Json = nlohmann::ordered_json;

Json config_of(const Layer& layer) { return Json::parse(layer.get_config()); }

Layer layer_of(std::string_view class_name, const Json& values, int input_rank = 4) {
  LayerConfig config(class_name, values, input_rank);
  return layer_from_config(config);
}

TEST(LayerConfig, HasKerasKeysAndValues) {
  Json config = config_of(Conv2D({.filters = 3,
                                  .kernel_size = {3, 2},
                                  .strides = {2, 2},
                                  .padding = Padding::same,
                                  .activation = Activation::relu,
                                  .kernel_regularizer = L1L2(0.1, 0.2),
                                  .name = "conv2d"}));
  const auto initializer = [](const char* name) {
    return Json{{"module", "keras.initializers"},
                {"class_name", name},
                {"config", Json::object()},
                {"registered_name", nullptr}};
  };
  // Keras 3.15's configuration of this layer, without the seeds of initializers.
  EXPECT_EQ(config,
            Json::parse(R"({"name": "conv2d", "trainable": true, "dtype": {"module": "keras",
      "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": null}, "filters": 3,
      "kernel_size": [3, 2], "strides": [2, 2], "padding": "same", "data_format": "channels_last",
      "dilation_rate": [1, 1], "groups": 1, "activation": "relu", "use_bias": true, "kernel_initializer": null,
      "bias_initializer": null, "kernel_regularizer": {"module": "keras.regularizers", "class_name": "L1L2",
      "config": {"l1": 0.1, "l2": 0.2}, "registered_name": null}, "bias_regularizer": null,
      "activity_regularizer": null, "kernel_constraint": null, "bias_constraint": null})")
                .patch({{{"op", "replace"}, {"path", "/kernel_initializer"}, {"value", initializer("GlorotUniform")}},
                        {{"op", "replace"}, {"path", "/bias_initializer"}, {"value", initializer("Zeros")}}}));
}

// A layer without weights may be called with inputs of several ranks, where 1 is the last axis of some only.
TEST(LayerConfig, KeepsTheNumberOfAConcatenatedAxis) {
  for (const int axis : {-2, -1, 1, 2, 3})
    EXPECT_EQ(config_of(layer_of("Concatenate", {{"name", "x"}, {"axis", axis}}))["axis"], axis);
}

TEST(LayerConfig, ReadsAttentionThatKerasHasNotBuilt) {
  const Json config{{"name", "x"}, {"num_heads", 2}, {"key_dim", 3}, {"attention_axes", nullptr}, {"output_shape", 5}};
  const Json read = config_of(layer_of("MultiHeadAttention", config));
  EXPECT_EQ(read["value_dim"], 3);
  EXPECT_EQ(read["output_shape"], Json::array({5}));
  EXPECT_EQ(read["attention_axes"], nullptr);
  const Json all{{"name", "x"}, {"num_heads", 2}, {"key_dim", 3}, {"attention_axes", {2, 1}}, {"use_gate", true}};
  EXPECT_EQ(config_of(layer_of("MultiHeadAttention", all))["attention_axes"], Json::array({2, 1}));
  EXPECT_EQ(config_of(layer_of("MultiHeadAttention", all))["use_gate"], true);
}

// Keras' constructor does not take it.
TEST(LayerConfig, OfSpatialDropoutHasNoTrainable) {
  EXPECT_FALSE(config_of(SpatialDropout1D({.rate = 0.25, .name = "x"})).contains("trainable"));
  EXPECT_TRUE(config_of(Dropout({.rate = 0.25, .name = "x"})).contains("trainable"));
}

TEST(LayerConfig, ReadsABoundThatIsNone) {
  const Json config{{"name", "x"}, {"max_value", nullptr}, {"negative_slope", 0.0}, {"threshold", 0.0}};
  EXPECT_TRUE(layer_of("ReLU", config).impl().traits().is_relu);
}

TEST(LayerConfig, ReadsStridesThatAreNone) {
  const Json config{{"name", "x"}, {"pool_size", 3}, {"strides", nullptr}};
  EXPECT_EQ(config_of(layer_of("MaxPooling1D", config, 3))["strides"], Json::array({3}));
}

TEST(LayerConfig, ReadsFormsOfPreprocessing) {
  const Layer normalization =
      layer_of("Normalization", {{"name", "x"}, {"axis", {3}}, {"mean", nullptr}, {"variance", nullptr}});
  EXPECT_EQ(config_of(normalization)["axis"], 3);
  EXPECT_EQ(config_of(normalization)["mean"], nullptr);
  EXPECT_EQ(config_of(layer_of("Rescaling", {{"name", "x"}, {"scale", {0.5}}}))["scale"], 0.5);
  EXPECT_EQ(
      config_of(layer_of("Dropout", {{"name", "x"}, {"rate", 0.5}, {"noise_shape", {nullptr, 1}}}))["noise_shape"],
      Json::parse("[null, 1]"));
  EXPECT_EQ(config_of(layer_of("Dropout", {{"name", "x"}, {"rate", 0.5}, {"noise_shape", {7, 1}}}))["noise_shape"],
            Json::parse("[7, 1]"));
  EXPECT_ERROR(InputError, "noise_shape cannot be [null,0]; it must be null, or a list of null and whole numbers",
               layer_of("Dropout", {{"name", "x"}, {"rate", 0.5}, {"noise_shape", {nullptr, 0}}}));
}

TEST(LayerConfig, ReadsKeras2) {
  const Layer relu = layer_of("LeakyReLU", {{"name", "x"}, {"trainable", true}, {"dtype", "float32"}, {"alpha", 0.25}});
  EXPECT_EQ(config_of(relu)["negative_slope"], 0.25);
  const Layer dense = layer_of("Dense", Json::parse(R"({"name": "x", "units": 2, "activation": "swish",
      "batch_input_shape": [null, 3], "kernel_initializer": {"class_name": "VarianceScaling", "config": {"scale": 1.0,
      "mode": "fan_avg", "distribution": "uniform", "seed": null}},
      "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.5}}, "bias_constraint": "non_neg"})"));
  EXPECT_EQ(config_of(dense)["activation"], "silu");
  EXPECT_EQ(config_of(dense)["kernel_regularizer"]["config"], (Json{{"l2", 0.5}}));
  EXPECT_EQ(config_of(dense)["bias_constraint"]["class_name"], "NonNeg");
  EXPECT_EQ(config_of(layer_of("BatchNormalization", {{"name", "x"}, {"axis", {3}}}))["axis"], -1);
}

TEST(LayerConfig, GivesRegularizersTheirClassesDefaults) {
  const auto regularizer = [](const Json& value) {
    return config_of(
        layer_of("Dense", {{"name", "x"}, {"units", 2}, {"kernel_regularizer", value}}))["kernel_regularizer"];
  };
  for (const auto& [class_name, key] : {std::pair("L1", "l1"), std::pair("L2", "l2")})
    for (const Json& config : {Json::object(), Json{{key, nullptr}}}) {
      EXPECT_EQ(regularizer(class_name)["config"], (Json{{key, 0.01}}));
      EXPECT_EQ(regularizer({{"class_name", class_name}, {"config", config}})["config"], (Json{{key, 0.01}}));
    }
  EXPECT_TRUE(regularizer("l1_l2").is_null());
  EXPECT_TRUE(regularizer({{"class_name", "L1L2"}, {"config", {{"l1", nullptr}}}}).is_null());
}

TEST(LayerConfig, MakesTheBackwardLayerThatAFileLacks) {
  const Json gru = config_of(GRU({.units = 2, .name = "gru"}));
  const Layer layer =
      layer_of("Bidirectional", {{"name", "x"}, {"layer", {{"class_name", "GRU"}, {"config", gru}}}}, 3);
  EXPECT_EQ(config_of(layer)["layer"]["config"]["name"], "forward_gru");
  EXPECT_EQ(config_of(layer)["backward_layer"]["config"]["name"], "backward_gru");
  EXPECT_EQ(config_of(layer)["backward_layer"]["config"]["go_backwards"], true);
}

TEST(LayerConfig, KeepsWhatDoesNotTrain) {
  const Layer layer = layer_of("Dense", {{"name", "x"}, {"trainable", false}, {"units", 2}});
  layer.impl().build(std::vector<Shape>{{3}}, {});
  for (const Variable& variable : layer.impl().variables()) EXPECT_FALSE(variable.trainable());
  EXPECT_EQ(config_of(layer)["trainable"], false);
  const Layer norm = layer_of("BatchNormalization", {{"name", "y"}, {"trainable", true}});
  norm.impl().build(std::vector<Shape>{{3}}, {});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(norm.impl().variables()[i].trainable(), i < 2);
  layer.impl().set_trainable(true);
  EXPECT_EQ(config_of(layer)["trainable"], true);
}

TEST(LayerConfig, HasTheDTypePolicy) {
  const Dense mixed = with_dtype_policy("mixed_bfloat16", [] { return Dense({.units = 2, .name = "x"}); });
  const Json keras_3 = Json::parse(R"({"module": "keras", "class_name": "DTypePolicy",
      "config": {"name": "mixed_bfloat16"}, "registered_name": null})");
  EXPECT_EQ(config_of(mixed)["dtype"], keras_3);
  const Json keras_2 = {{"class_name", "Policy"}, {"config", {{"name", "mixed_bfloat16"}}}};
  for (const Json& dtype : {keras_3, keras_2, Json("mixed_bfloat16")}) {
    const Layer layer = layer_of("Dense", {{"name", "x"}, {"units", 2}, {"dtype", dtype}});
    EXPECT_EQ(layer.impl().dtype_policy(), DTypePolicy::mixed_bfloat16) << dtype;
  }
  const DTypePolicyScope scope("mixed_bfloat16");
  const Json silent = {{"name", "x"}, {"units", 2}};
  EXPECT_EQ(layer_of("Dense", silent).impl().dtype_policy(), DTypePolicy::mixed_bfloat16);
  const Json plain = {{"name", "x"}, {"units", 2}, {"dtype", "float32"}};
  EXPECT_EQ(layer_of("Dense", plain).impl().dtype_policy(), DTypePolicy::float32);
}

TEST(LayerConfig, SaysWhatALayerCannotBe) {
  EXPECT_ERROR(InputError, "layer 'x' is of class Conv3D; known are Activation, ActivityRegularization, ",
               layer_of("Conv3D", {{"name", "x"}}));
  EXPECT_ERROR(InputError, "no name", layer_of("Dense", {{"units", 2}}));
  EXPECT_ERROR(InputError,
               "layer 'x' (Conv2D): data_format cannot be \"channels_first\"; it must be \"channels_last\": in Keras, "
               "make the model again with channels_last",
               layer_of("Conv2D", {{"name", "x"}, {"data_format", "channels_first"}}));
  for (const char* class_name : {"DepthwiseConv2D", "SeparableConv1D"})
    EXPECT_ERROR(InputError, "it must be \"channels_last\": in Keras, make the model again with channels_last",
                 layer_of(class_name, {{"name", "x"}, {"data_format", "channels_first"}}));
  EXPECT_ERROR(InputError,
               "layer 'x' (LayerNormalization): rms_scaling cannot be true; it must be false: use the layer "
               "RMSNormalization",
               layer_of("LayerNormalization", {{"name", "x"}, {"rms_scaling", true}}));
  EXPECT_ERROR(InputError, "sparse cannot be true; it must be left out",
               layer_of("CategoryEncoding", {{"name", "x"}, {"num_tokens", 2}, {"sparse", true}}));
  EXPECT_ERROR(InputError, "layer 'x' (Dense): dtype cannot be \"float16\"; it must be float32 or mixed_bfloat16",
               layer_of("Dense", {{"name", "x"}, {"dtype", "float16"}}));
  EXPECT_ERROR(InputError, "layer 'x' (LSTM): recurrent_activation cannot be \"glu\"",
               layer_of("LSTM", {{"name", "x"}, {"recurrent_activation", "glu"}}));
  EXPECT_ERROR(InputError, "layer 'x' (Dense): activation cannot be \"glue\"; it must be one of linear, relu,",
               layer_of("Dense", {{"name", "x"}, {"activation", "glue"}}));
  const Json leaky{{"class_name", "LeakyReLU"}, {"config", {{"negative_slope", 0.1}}}};
  for (const Json& activation : {leaky, Json("sparsemax"), Json("threshold")})
    EXPECT_ERROR(InputError,
                 "in Keras, make the layer again without an activation, load its weights, and apply a layer,",
                 layer_of("Dense", {{"name", "x"}, {"activation", activation}}));
  EXPECT_ERROR(InputError, "(Activation): activation cannot be \"glu\"; it must be one that keeps shapes: Keras gives ",
               layer_of("Activation", {{"name", "x"}, {"activation", "glu"}}));
  EXPECT_ERROR(InputError, "layer 'x' (Dense): units cannot be \"3\"; it must be a whole number",
               layer_of("Dense", {{"name", "x"}, {"units", "3"}}));
  EXPECT_ERROR(InputError, "layer 'x' (LayerNormalization): axis cannot be 18446744073709551615; it must be an axis,",
               layer_of("LayerNormalization", {{"name", "x"}, {"axis", 18446744073709551615U}}));
  EXPECT_ERROR(InputError, "layer 'x' (Dense): lora_rank cannot be 4; it must be left out",
               layer_of("Dense", {{"name", "x"}, {"units", 3}, {"lora_rank", 4}}));
  EXPECT_ERROR(InputError, "kernel_constraint cannot be \"radial\"; it must be null, MaxNorm, MinMaxNorm, NonNeg or",
               layer_of("Dense", {{"name", "x"}, {"units", 2}, {"kernel_constraint", "radial"}}));
  EXPECT_ERROR(InputError, "layer 'x' (TimeDistributed): layer cannot be 3; it must be a layer",
               layer_of("TimeDistributed", {{"name", "x"}, {"layer", 3}}));
  EXPECT_ERROR(InputError, "layer 'x': TimeDistributed needs a layer", layer_of("TimeDistributed", {{"name", "x"}}));
  EXPECT_ERROR(InputError, "layer 'x': Bidirectional needs a layer", layer_of("Bidirectional", {{"name", "x"}}));
  EXPECT_ERROR(InputError, "merge_mode cannot be \"max\"; it must be \"concat\" or \"sum\" or",
               layer_of("Bidirectional", {{"name", "x"}, {"merge_mode", "max"}}));
  EXPECT_ERROR(InputError,
               "mean cannot be [[1],[2,3]]; it must be null, a number, or numbers in lists of equal lengths",
               layer_of("Normalization", Json::parse(R"({"name": "x", "mean": [[1], [2, 3]]})")));
  EXPECT_ERROR(InputError, "layer 'x': Normalization needs a mean and a variance of the same shape, got (2) and (2, 1)",
               layer_of("Normalization", Json::parse(R"({"name": "x", "mean": [1, 2], "variance": [[1], [2]]})")));
  EXPECT_ERROR(InputError, "layer 'x' (BatchNormalization): axis cannot be [1,2]; it must be the number of an axis",
               layer_of("BatchNormalization", {{"name", "x"}, {"axis", {1, 2}}}));
  EXPECT_ERROR(InputError, "axis cannot be \"last\"; it must be an axis, a list of axes, or null",
               layer_of("LayerNormalization", {{"name", "x"}, {"axis", "last"}}));
  EXPECT_ERROR(InputError, "layer 'x' (MultiHeadAttention): attention_axes cannot be \"x\"; it must be an axis,",
               layer_of("MultiHeadAttention", {{"name", "x"}, {"attention_axes", "x"}}));
  EXPECT_ERROR(InputError, "layer 'x' (GroupQueryAttention): sliding_window cannot be 0.5",
               layer_of("GroupQueryAttention", {{"name", "x"}, {"sliding_window", 0.5}}));
  EXPECT_ERROR(InputError, "layer 'x' (Attention): score_mode cannot be \"sum\"; it must be \"dot\" or \"concat\"",
               layer_of("Attention", {{"name", "x"}, {"score_mode", "sum"}}));
  EXPECT_ERROR(InputError, "output_shape cannot be \"x\"; it must be null, a size or a list of sizes",
               layer_of("MultiHeadAttention", {{"name", "x"}, {"output_shape", "x"}}));
  EXPECT_ERROR(InputError, "layer 'x': Dense needs at least 1 unit", layer_of("Dense", {{"name", "x"}}));
  EXPECT_ERROR(Unsupported,
               "layer 'x' (Activation): Keras 3 lacks the function of its activation; save the weights alone",
               config_of(ActivationLayer(Activation::keras_2_hard_sigmoid, "x")));
}

}  // namespace
}  // namespace lockstep::test
