#include <nlohmann/json.hpp>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/adaptive_pooling.h>
#include <lockstep/models/layers/application_layers.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/conv1d.h>
#include <lockstep/models/layers/conv_transpose.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dot.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/einsum_dense.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/preprocessing.h>
#include <lockstep/models/layers/random_images.h>
#include <lockstep/models/layers/repeat.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/layers/resizing.h>
#include <lockstep/models/layers/simple_rnn.h>
#include <lockstep/models/layers/time_distributed.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

using Json = nlohmann::ordered_json;

Json config_of(const Layer& layer) { return Json::parse(layer.get_config()); }

Layer layer_of(std::string_view class_name, const Json& values, int input_rank = 4) {
  LayerConfig config(class_name, values, input_rank);
  return layer_from_config(config);
}

/// Layers whose options all differ from the defaults.
std::vector<Layer> unusual_layers() {
  const Size2d strides{2, 1};
  return {
      Conv2D({.filters = 4,
              .kernel_size = {3, 2},
              .strides = strides,
              .padding = Padding::same,
              .groups = 2,
              .activation = Activation::gelu,
              .use_bias = false,
              .kernel_initializer = he_normal,
              .bias_initializer = ones,
              .kernel_regularizer = L1(0.5),
              .bias_regularizer = L2(0.25),
              .kernel_constraint = MaxNorm(3, {0, 1, 2}),
              .bias_constraint = NonNeg(),
              .name = "a"}),
      DepthwiseConv2D({.kernel_size = {3, 2},
                       .padding = Padding::same,
                       .depth_multiplier = 2,
                       .dilation_rate = {2, 3},
                       .activation = Activation::elu,
                       .use_bias = false,
                       .depthwise_initializer = lecun_normal,
                       .depthwise_regularizer = L1L2(0.5, 0.25),
                       .bias_regularizer = L2(0.5),
                       .depthwise_constraint = UnitNorm({0, 1}),
                       .bias_constraint = MinMaxNorm({.min_value = 0.5, .rate = 0.25}),
                       .name = "b"}),
      SeparableConv2D({.filters = 3,
                       .kernel_size = {3, 2},
                       .strides = strides,
                       .padding = Padding::same,
                       .depth_multiplier = 2,
                       .activation = Activation::silu,
                       .use_bias = false,
                       .depthwise_regularizer = L1(0.5),
                       .pointwise_regularizer = L2(0.25),
                       .depthwise_constraint = NonNeg(),
                       .pointwise_constraint = UnitNorm(2),
                       .bias_constraint = MaxNorm(),
                       .name = "c"}),
      Dense({.units = 3,
             .activation = Activation::tanh,
             .use_bias = false,
             .kernel_regularizer = L2(0.5),
             .kernel_constraint = MaxNorm(),
             .bias_constraint = UnitNorm(),
             .name = "d"}),
      BatchNormalization({.axis = 1, .name = "batch_normalization_of_an_axis"}),
      BatchNormalization({.momentum = 0.5,
                          .epsilon = 0.25,
                          .synchronized = true,
                          .scale = false,
                          .beta_constraint = NonNeg(),
                          .gamma_constraint = MaxNorm(),
                          .name = "e"}),
      GroupNormalization({.groups = 4,
                          .axis = 2,
                          .epsilon = 0.25,
                          .center = false,
                          .gamma_initializer = zeros,
                          .gamma_regularizer = L2(0.5),
                          .beta_constraint = NonNeg(),
                          .name = "group_normalization"}),
      RMSNormalization({.axis = {-2, -1}, .epsilon = 0.25, .name = "rms_normalization"}),
      UnitNormalization({.axis = {1, 2}, .name = "unit_normalization"}),
      LayerNormalization({.axis = {1, 3}, .scale = false, .name = "layer_normalization_of_axes"}),
      LayerNormalization({.epsilon = 0.25,
                          .center = false,
                          .gamma_initializer = zeros,
                          .beta_regularizer = L1(0.5),
                          .beta_constraint = NonNeg(),
                          .gamma_constraint = MaxNorm(),
                          .name = "f"}),
      LSTM({.units = 3,
            .return_sequences = true,
            .activation = Activation::softsign,
            .use_bias = false,
            .unit_forget_bias = false,
            .recurrent_regularizer = L1(1),
            .kernel_constraint = UnitNorm(),
            .recurrent_constraint = MaxNorm(),
            .bias_constraint = NonNeg(),
            .name = "g"}),
      GRU({.units = 3,
           .return_sequences = true,
           .go_backwards = true,
           .recurrent_activation = Activation::hard_sigmoid,
           .reset_after = false,
           .bias_initializer = ones,
           .kernel_regularizer = L1(1),
           .kernel_constraint = MaxNorm(),
           .recurrent_constraint = UnitNorm(),
           .bias_constraint = NonNeg(),
           .name = "h"}),
      SimpleRNN({.units = 3,
                 .go_backwards = true,
                 .activation = Activation::relu,
                 .dropout = 0.25,
                 .recurrent_dropout = 0.5,
                 .name = "recurrent"}),
      Bidirectional(GRU({.units = 3, .recurrent_dropout = 0.5}),
                    {.merge_mode = MergeMode::sum,
                     .backward_layer = LSTM({.units = 3, .go_backwards = true, .name = "backwards"}),
                     .name = "both"}),
      TimeDistributed(Bidirectional(LSTM({.units = 3})), "each"),
      Embedding({.input_dim = 5,
                 .output_dim = 2,
                 .embeddings_initializer = zeros,
                 .embeddings_constraint = UnitNorm(1),
                 .name = "i"}),
      MaxPooling2D({.pool_size = {3, 2}, .strides = strides, .padding = Padding::same, .name = "j"}),
      AveragePooling2D({.pool_size = {3, 2}, .name = "k"}),
      GlobalMaxPooling2D({.keepdims = true, .name = "l"}),
      GlobalAveragePooling2D({.keepdims = true, .name = "m"}),
      AdaptiveMaxPooling1D({.output_size = 3, .name = "adaptive_max_pooling1d"}),
      AdaptiveAveragePooling1D({.output_size = 3, .name = "adaptive_average_pooling1d"}),
      AdaptiveMaxPooling2D({.output_size = {3, 2}, .name = "adaptive_max_pooling2d"}),
      AdaptiveAveragePooling2D({.output_size = {3, 2}, .name = "adaptive_average_pooling2d"}),
      MaxPooling1D({.pool_size = 3, .strides = 2, .padding = Padding::same, .name = "max_pooling1d"}),
      AveragePooling1D({.pool_size = 3, .name = "average_pooling1d"}),
      GlobalMaxPooling1D({.keepdims = true, .name = "global_max_pooling1d"}),
      GlobalAveragePooling1D({.keepdims = true, .name = "global_average_pooling1d"}),
      ActivationLayer(Activation::softsign, "n"),
      ReLU({.max_value = 6, .negative_slope = 0.125, .threshold = 0.5, .name = "o"}),
      LeakyReLU({.negative_slope = 0.125, .name = "p"}),
      ELU({.alpha = 0.5, .name = "q"}),
      PReLU({.alpha_initializer = ones, .alpha_regularizer = L2(0.5), .shared_axes = {1, 2}, .name = "p_re_lu"}),
      Softmax({.axis = {1, -1}, .name = "r"}),
      Flatten("s"),
      Reshape({.target_shape = {3, -1}, .name = "t"}),
      ZeroPadding2D({.padding = {1, 2, 3, 4}, .name = "u"}),
      Concatenate({.axis = 2, .name = "v"}),
      Add("w"),
      Average("y"),
      Maximum("z"),
      Minimum("aa"),
      Multiply("ab"),
      Subtract("ac"),
      Permute({.dims = {2, 1}, .name = "ad"}),
      Dropout({.rate = 0.25, .noise_shape = {-1, 1, 1}, .name = "x"}),
      Cropping1D({.cropping = {1, 2}, .name = "ak"}),
      ZeroPadding1D({.padding = {1, 2}, .name = "an"}),
      Cropping2D({.cropping = {1, 2, 3, 4}, .name = "ae"}),
      CustomScaleLayer({.scale = 0.25, .name = "af"}),
      LayerScale({.init_values = 0.5, .projection_dim = 3, .name = "ag"}),
      Normalization({.mean = {1, 2}, .variance = {3, 4}, .invert = true, .name = "ah"}),
      Rescaling({.scale = {0.5, 2}, .offset = {-1}, .name = "ai"}),
      SpatialDropout1D({.rate = 0.25, .name = "spatial_dropout1d"}),
      SpatialDropout2D({.rate = 0.5, .name = "spatial_dropout2d"}),
      CategoryEncoding({.num_tokens = 4, .output_mode = CategoryOutput::count, .name = "category_encoding"}),
      GaussianNoise({.stddev = 0.25, .name = "gaussian_noise"}),
      GaussianDropout({.rate = 0.25, .name = "gaussian_dropout"}),
      StochasticDepth({.drop_path_rate = 0.25, .name = "aj"}),
      EinsumDense({.equation = "abc,cde->abde",
                   .output_shape = {-1, 2, 3},
                   .activation = Activation::tanh,
                   .bias_axes = "de",
                   .name = "einsum_dense"}),
      EinsumDense({.equation = "...x,xy->...y", .output_shape = {2}, .name = "einsum_dense_without_bias"}),
      Identity("identity"),
      RepeatVector({.n = 3, .name = "repeat_vector"}),
      UpSampling1D({.size = 3, .name = "up_sampling1d"}),
      UpSampling2D({.size = {2, 3}, .name = "up_sampling2d"}),
      UpSampling2D({.size = 2, .interpolation = Interpolation::bicubic, .name = "up_sampling2d_bicubic"}),
      RandomFlip({.mode = FlipMode::vertical, .name = "random_flip"}),
      RandomTranslation({.height_factor = {-0.25, 0.5},
                         .width_factor = 0.25,
                         .fill_mode = FillMode::wrap,
                         .interpolation = Interpolation::nearest,
                         .fill_value = 2,
                         .name = "random_translation"}),
      RandomZoom({.height_factor = 0.25, .name = "random_zoom"}),
      RandomZoom({.height_factor = 0.25, .width_factor = RandomRange(0, 0.5), .name = "random_zoom_of_two"}),
      RandomRotation({.factor = 0.25, .fill_mode = FillMode::constant, .name = "random_rotation"}),
      RandomCrop({.height = 3, .width = 4, .name = "random_crop"}),
      RandomBrightness({.factor = 0.25, .value_range = {0, 1}, .name = "random_brightness"}),
      RandomContrast({.factor = {0.25, 0.5}, .name = "random_contrast"}),
      Resizing({.height = 3,
                .width = 4,
                .interpolation = Interpolation::lanczos3,
                .crop_to_aspect_ratio = true,
                .fill_value = 2,
                .antialias = true,
                .name = "resizing"}),
      Conv1D({.filters = 4,
              .kernel_size = 3,
              .padding = Padding1d::causal,
              .dilation_rate = 2,
              .groups = 2,
              .activation = Activation::gelu,
              .use_bias = false,
              .kernel_initializer = he_normal,
              .kernel_regularizer = L1(0.5),
              .name = "conv1d"}),
      Conv2DTranspose({.filters = 4,
                       .kernel_size = {3, 2},
                       .strides = {2, 3},
                       .padding = Padding::same,
                       .output_padding = Size2d{0, 2},
                       .activation = Activation::gelu,
                       .use_bias = false,
                       .kernel_initializer = he_normal,
                       .kernel_regularizer = L1(0.5),
                       .bias_constraint = NonNeg(),
                       .name = "conv2d_transpose"}),
      Conv2DTranspose({.filters = 4, .kernel_size = 3, .dilation_rate = {2, 3}, .name = "conv2d_transpose_dilated"}),
      Conv1DTranspose({.filters = 4,
                       .kernel_size = 3,
                       .strides = 2,
                       .padding = Padding::same,
                       .output_padding = 1,
                       .bias_initializer = ones,
                       .kernel_constraint = MaxNorm(),
                       .name = "conv1d_transpose"}),
      DepthwiseConv1D({.kernel_size = 3,
                       .strides = 2,
                       .padding = Padding::same,
                       .depth_multiplier = 2,
                       .activation = Activation::elu,
                       .depthwise_initializer = lecun_normal,
                       .bias_regularizer = L2(0.5),
                       .name = "depthwise_conv1d"}),
      SeparableConv1D({.filters = 3,
                       .kernel_size = 2,
                       .dilation_rate = 2,
                       .depth_multiplier = 2,
                       .use_bias = false,
                       .pointwise_initializer = zeros,
                       .depthwise_regularizer = L1(0.5),
                       .pointwise_constraint = UnitNorm(2),
                       .name = "separable_conv1d"}),
      Dot({.axes = {2, 1}, .normalize = true, .name = "dot"}),
      Masking({.mask_value = -1, .name = "masking"}),
      Embedding({.input_dim = 5, .output_dim = 2, .mask_zero = true, .name = "masked_embedding"}),
      GRU({.units = 2, .return_sequences = true, .zero_output_for_mask = true, .name = "zeroed_gru"}),
      Dot({.axes = {-1}, .name = "dot_of_one_axis"}),
      MultiHeadAttention({.num_heads = 2,
                          .key_dim = 3,
                          .value_dim = 4,
                          .dropout = 0.25,
                          .use_bias = false,
                          .output_shape = Shape{5, 6},
                          .kernel_initializer = zeros,
                          .kernel_regularizer = L1(0.5),
                          .bias_constraint = NonNeg(),
                          .name = "ae"}),
      GroupQueryAttention({.head_dim = 2,
                           .num_query_heads = 6,
                           .num_key_value_heads = 3,
                           .dropout = 0.25,
                           .use_bias = false,
                           .bias_initializer = ones,
                           .bias_regularizer = L2(0.5),
                           .kernel_constraint = MaxNorm(),
                           .name = "af"}),
  };
}

TEST(LayerConfig, GivesEveryLayerBack) {
  for (const Layer& layer : unusual_layers()) {
    const Json config = config_of(layer);
    EXPECT_EQ(config_of(layer_of(layer.impl().class_name(), config)), config);
  }
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

TEST(LayerConfig, ReadsAttentionThatKerasHasNotBuilt) {
  const Json config{{"name", "x"}, {"num_heads", 2}, {"key_dim", 3}, {"attention_axes", nullptr}, {"output_shape", 5}};
  const Json read = config_of(layer_of("MultiHeadAttention", config));
  EXPECT_EQ(read["value_dim"], 3);
  EXPECT_EQ(read["output_shape"], Json::array({5}));
  EXPECT_EQ(read["attention_axes"], Json::array({1}));
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
  EXPECT_EQ(config_of(normalization)["axis"], -1);
  EXPECT_EQ(config_of(normalization)["mean"], nullptr);
  EXPECT_EQ(config_of(layer_of("Rescaling", {{"name", "x"}, {"scale", {0.5}}}))["scale"], 0.5);
  EXPECT_EQ(
      config_of(layer_of("Dropout", {{"name", "x"}, {"rate", 0.5}, {"noise_shape", {nullptr, 1}}}))["noise_shape"],
      Json::parse("[null, 1]"));
  EXPECT_ERROR(InputError, "noise_shape cannot be [null,7]; it must be null, or a list of null and 1",
               layer_of("Dropout", {{"name", "x"}, {"rate", 0.5}, {"noise_shape", {nullptr, 7}}}));
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
  EXPECT_ERROR(LogicError, "built already", layer.impl().set_trainable(true));
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
  EXPECT_ERROR(InputError, "layer 'x' is of class Attention; known are Activation, Adaptive",
               layer_of("Attention", {{"name", "x"}}));
  EXPECT_ERROR(InputError, "no name", layer_of("Dense", {{"units", 2}}));
  EXPECT_ERROR(InputError, "layer 'x' (Conv2D): data_format cannot be \"channels_first\"; it must be \"channels_last\"",
               layer_of("Conv2D", {{"name", "x"}, {"data_format", "channels_first"}}));
  EXPECT_ERROR(InputError, "layer 'x' (Dense): dtype cannot be \"float16\"; it must be float32 or mixed_bfloat16",
               layer_of("Dense", {{"name", "x"}, {"dtype", "float16"}}));
  EXPECT_ERROR(InputError, "layer 'x' (LSTM): recurrent_activation cannot be \"glu\"",
               layer_of("LSTM", {{"name", "x"}, {"recurrent_activation", "glu"}}));
  EXPECT_ERROR(InputError, "layer 'x' (Dense): activation cannot be \"glu\"; it must be one of linear, relu,",
               layer_of("Dense", {{"name", "x"}, {"activation", "glu"}}));
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
  EXPECT_ERROR(InputError, "merge_mode cannot be null; it must be \"concat\" or \"sum\" or",
               layer_of("Bidirectional", {{"name", "x"}, {"merge_mode", nullptr}}));
  EXPECT_ERROR(InputError, "axis cannot be 1; it must be -1", layer_of("Normalization", {{"name", "x"}, {"axis", 1}}));
  EXPECT_ERROR(InputError, "layer 'x' (BatchNormalization): axis cannot be [1,2]; it must be the number of an axis",
               layer_of("BatchNormalization", {{"name", "x"}, {"axis", {1, 2}}}));
  EXPECT_ERROR(InputError, "axis cannot be \"last\"; it must be an axis, a list of axes, or null",
               layer_of("LayerNormalization", {{"name", "x"}, {"axis", "last"}}));
  EXPECT_ERROR(InputError, "layer 'x' (MultiHeadAttention): attention_axes cannot be [2]; it must be null or [1]",
               layer_of("MultiHeadAttention", {{"name", "x"}, {"attention_axes", {2}}}));
  EXPECT_ERROR(InputError, "layer 'x' (MultiHeadAttention): sliding_window cannot be 3",
               layer_of("MultiHeadAttention", {{"name", "x"}, {"sliding_window", 3}}));
  EXPECT_ERROR(InputError, "output_shape cannot be \"x\"; it must be null, a size or a list of sizes",
               layer_of("MultiHeadAttention", {{"name", "x"}, {"output_shape", "x"}}));
  EXPECT_ERROR(InputError, "layer 'x': Dense needs at least 1 unit", layer_of("Dense", {{"name", "x"}}));
  EXPECT_ERROR(Unsupported, "layer 'x' (Activation): activation has no name in Keras' files",
               config_of(ActivationLayer(Activation::gelu_tanh, "x")));
}

}  // namespace
}  // namespace lockstep::test
