// Compares every layer in mixed_bfloat16 with the same layer in f32, on numbers that bf16 represents exactly.

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/adaptive_pooling.h>
#include <lockstep/models/layers/application_layers.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/batch_normalization.h>
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
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/preprocessing.h>
#include <lockstep/models/layers/random_images.h>
#include <lockstep/models/layers/repeat.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/layers/resizing.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

constexpr std::int64_t rows = 6;

struct Case {
  std::string name;
  std::function<Layer()> layer;
  std::vector<Shape> inputs;
  bool computes_in_f32 = false;
  bool takes_ids = false;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

template <class Kind, class... Options>
std::function<Layer()> make(const Options&... options) {
  return [=]() -> Layer { return Kind(options...); };
}

std::vector<Case> cases() {
  const Shape image{8, 8, 4};
  const Conv2DOptions conv{.filters = 6, .kernel_size = {3, 3}, .padding = Padding::same};
  const DepthwiseConv2DOptions depthwise{.kernel_size = {3, 3}, .depth_multiplier = 2};
  const SeparableConv2DOptions separable{.filters = 5, .kernel_size = {3, 3}, .activation = Activation::tanh};
  const Pooling2DOptions strided{.pool_size = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same};
  std::vector<Case> all{
      {"Conv2D", make<Conv2D>(conv), {image}},
      {"DepthwiseConv2D", make<DepthwiseConv2D>(depthwise), {image}},
      {"SeparableConv2D", make<SeparableConv2D>(separable), {image}},
      {"Dense", make<Dense>(DenseOptions{.units = 7}), {{20}}},
      {"Dense_sigmoid", make<Dense>(DenseOptions{.units = 7, .activation = Activation::sigmoid}), {{20}}},
      {"Dense_softmax", make<Dense>(DenseOptions{.units = 7, .activation = Activation::softmax}), {{20}}, true},
      {"EinsumDense",
       make<EinsumDense>(
           EinsumDenseOptions{.equation = "abcd,de->aebc", .output_shape = {7, -1, -1}, .bias_axes = "e"}),
       {image}},
      {"Conv1D", make<Conv1D>(Conv1DOptions{.filters = 8, .kernel_size = 3, .padding = Padding1d::causal}), {{9, 4}}},
      {"DepthwiseConv1D",
       make<DepthwiseConv1D>(DepthwiseConv1DOptions{.kernel_size = 3, .depth_multiplier = 2}),
       {{9, 4}}},
      {"SeparableConv1D",
       make<SeparableConv1D>(SeparableConv1DOptions{.filters = 5, .kernel_size = 3, .activation = Activation::tanh}),
       {{9, 4}}},
      {"Conv2DTranspose",
       make<Conv2DTranspose>(
           Conv2DTransposeOptions{.filters = 6, .kernel_size = 3, .strides = 2, .padding = Padding::same}),
       {image}},
      {"Conv1DTranspose", make<Conv1DTranspose>(Conv1DTransposeOptions{.filters = 6, .kernel_size = 3}), {{9, 4}}},
      {"Identity", make<Identity>(), {image}},
      {"RepeatVector", make<RepeatVector>(RepeatVectorOptions{.n = 3}), {{9}}},
      {"UpSampling1D", make<UpSampling1D>(UpSampling1DOptions{}), {{5, 3}}},
      {"UpSampling2D", make<UpSampling2D>(UpSampling2DOptions{.size = {2, 3}}), {image}},
      {"RandomFlip", make<RandomFlip>(RandomFlipOptions{}), {image}},
      {"RandomTranslation",
       make<RandomTranslation>(RandomTranslationOptions{.height_factor = 0.5, .width_factor = 0.5}),
       {image}},
      {"RandomCrop", make<RandomCrop>(RandomCropLayerOptions{.height = 3, .width = 4}), {image}},
      {"RandomContrast", make<RandomContrast>(RandomColorOptions{.factor = 0.5, .value_range = {-1, 1}}), {image}},
      {"Resizing", make<Resizing>(ResizingOptions{.height = 5, .width = 11}), {image}},
      {"Dot", make<Dot>(DotOptions{.axes = {2, 1}}), {{5, 6}, {6, 4}}},
      {"BatchNormalization", make<BatchNormalization>(BatchNormalizationOptions{}), {image}},
      {"MaxPooling2D", make<MaxPooling2D>(strided), {image}},
      {"AveragePooling2D", make<AveragePooling2D>(strided), {image}},
      {"GlobalMaxPooling2D", make<GlobalMaxPooling2D>(GlobalPooling2DOptions{}), {image}},
      {"GlobalAveragePooling2D", make<GlobalAveragePooling2D>(GlobalPooling2DOptions{.keepdims = true}), {image}},
      {"AdaptiveMaxPooling2D", make<AdaptiveMaxPooling2D>(AdaptivePooling2DOptions{.output_size = {3, 5}}), {image}},
      {"AdaptiveAveragePooling2D",
       make<AdaptiveAveragePooling2D>(AdaptivePooling2DOptions{.output_size = {3, 5}}),
       {image}},
      {"AdaptiveMaxPooling1D", make<AdaptiveMaxPooling1D>(AdaptivePooling1DOptions{.output_size = 4}), {{9, 4}}},
      {"AdaptiveAveragePooling1D",
       make<AdaptiveAveragePooling1D>(AdaptivePooling1DOptions{.output_size = 4}),
       {{9, 4}}},
      {"MaxPooling1D", make<MaxPooling1D>(Pooling1DOptions{.pool_size = 3, .strides = 2}), {{9, 4}}},
      {"AveragePooling1D", make<AveragePooling1D>(Pooling1DOptions{.padding = Padding::same}), {{9, 4}}},
      {"GlobalMaxPooling1D", make<GlobalMaxPooling1D>(GlobalPooling1DOptions{}), {{9, 4}}},
      {"GlobalAveragePooling1D", make<GlobalAveragePooling1D>(GlobalPooling1DOptions{.keepdims = true}), {{9, 4}}},
      {"ReLU", make<ReLU>(), {image}},
      {"ReLU_threshold", make<ReLU>(ReLUOptions{.negative_slope = 0.25, .threshold = 0.3125}), {image}},
      {"PReLU", make<PReLU>(PReLUOptions{.alpha_initializer = ones, .shared_axes = {1, 2}}), {image}, true},
      {"LeakyReLU", make<LeakyReLU>(LeakyReLUOptions{}), {image}},
      {"ELU", make<ELU>(ELUOptions{}), {image}},
      {"Softmax", make<Softmax>(), {{9}}, true},
      {"Softmax_axis", make<Softmax>(SoftmaxOptions{.axis = {1}}), {{9, 4}}, true},
      {"Flatten", make<Flatten>(), {image}},
      {"Reshape", make<Reshape>(ReshapeOptions{.target_shape = {16, -1}}), {image}},
      {"ZeroPadding2D", make<ZeroPadding2D>(ZeroPadding2DOptions{.padding = {1, 2, 0, 1}}), {image}},
      {"Concatenate", make<Concatenate>(ConcatenateOptions{}), {image, {8, 8, 2}}},
      {"Add", make<Add>(), {image, image, image}},
      {"Average", make<Average>(), {image, image}},
      {"Maximum", make<Maximum>(), {image, image}},
      {"Multiply", make<Multiply>(), {image, {image[2]}}},
      {"Permute", make<Permute>(PermuteOptions{.dims = {3, 1, 2}}), {image}},
      {"Cropping1D", make<Cropping1D>(Cropping1DOptions{.cropping = {1, 2}}), {{6, 4}}},
      {"ZeroPadding1D", make<ZeroPadding1D>(ZeroPadding1DOptions{.padding = {1, 2}}), {{6, 4}}},
      {"Cropping2D", make<Cropping2D>(Cropping2DOptions{.cropping = {1, 0, 2, 1}}), {image}},
      {"Rescaling", make<Rescaling>(RescalingLayerOptions{.scale = {0.5}, .offset = {-1}}), {image}},
      {"Normalization", make<Normalization>(NormalizationOptions{.mean = {0.5}, .variance = {2}}), {image}, true},
      {"CustomScaleLayer", make<CustomScaleLayer>(CustomScaleLayerOptions{.scale = 0.25}), {image, image}},
      {"LayerScale", make<LayerScale>(LayerScaleOptions{.init_values = 0.5, .projection_dim = 4}), {image}, true},
      {"Dropout_noise", make<Dropout>(DropoutOptions{.rate = 0.25, .noise_shape = {-1, 1, 1, -1}}), {image}},
      {"SpatialDropout1D", make<SpatialDropout1D>(SpatialDropoutOptions{.rate = 0.25}), {{9, 4}}},
      {"GaussianNoise", make<GaussianNoise>(GaussianNoiseOptions{.stddev = 0.25}), {image}},
      {"GaussianDropout", make<GaussianDropout>(GaussianDropoutOptions{.rate = 0.25}), {image}},
      {"StochasticDepth", make<StochasticDepth>(StochasticDepthOptions{.drop_path_rate = 0.25}), {image}},
      {"Dropout", make<Dropout>(DropoutOptions{.rate = 0.25}), {image}},
      {"MultiHeadAttention",
       make<MultiHeadAttention>(MultiHeadAttentionOptions{.num_heads = 2, .key_dim = 4, .use_bias = false}),
       {{5, 12}, {7, 12}}},
      {"BatchNormalization_axis", make<BatchNormalization>(BatchNormalizationOptions{.axis = 2}), {image}},
      {"GroupNormalization", make<GroupNormalization>(GroupNormalizationOptions{.groups = 2}), {image}, true},
      {"RMSNormalization", make<RMSNormalization>(), {{5, 12}}, true},
      {"UnitNormalization", make<UnitNormalization>(), {{5, 12}}, true},
      {"LayerNormalization_axes", make<LayerNormalization>(LayerNormalizationOptions{.axis = {1, 2}}), {image}, true},
      {"LayerNormalization", make<LayerNormalization>(LayerNormalizationOptions{}), {{5, 12}}, true},
      {"Masking", make<Masking>(MaskingOptions{}), {{5, 3}}},
      {"LSTM", make<LSTM>(LstmOptions{.units = 4}), {{5, 3}}, true},
      {"GRU", make<GRU>(GruOptions{.units = 4, .return_sequences = true}), {{5, 3}}, true},
      {"Embedding", make<Embedding>(EmbeddingOptions{.input_dim = 400, .output_dim = 3}), {{5}}, true, true},
  };
  for (const Activation activation : {Activation::linear, Activation::relu6, Activation::selu, Activation::gelu,
                                      Activation::gelu_tanh, Activation::silu, Activation::hard_silu, Activation::mish,
                                      Activation::softplus, Activation::softsign, Activation::exponential})
    all.push_back(
        {"Activation_" + std::to_string(static_cast<int>(activation)), make<ActivationLayer>(activation), {image}});
  all.push_back({"Activation_log_softmax", make<ActivationLayer>(Activation::log_softmax), {{9}}, true});
  return all;
}

/// Numbers that bf16 represents exactly, or ids, which it may not.
Tensor values(const Case& c, const Shape& shape, unsigned seed) {
  Shape batch{rows};
  for (const std::int64_t size : shape) batch.push_back(size);
  if (c.takes_ids) return cast(cast(random_tensor(batch, seed, 300, 400), DType::i64), DType::f32);
  return cast(cast(random_tensor(batch, seed), DType::bf16), DType::f32);
}

struct Results {
  Tensor y;
  std::vector<Variable> variables;
  std::vector<Tensor> gradients;  ///< of the trainable variables, then of the inputs
};

Results run(const Case& c, DTypePolicy policy) {
  const DTypePolicyScope scope(policy);
  std::vector<Symbol> inputs;
  std::vector<Tensor> xs;
  for (const Shape& shape : c.inputs) {
    inputs.push_back(Input(shape));
    xs.push_back(values(c, shape, static_cast<unsigned>(xs.size() + 1)));
  }
  const Network network(inputs, c.layer()(inputs), 3);
  std::vector<Tensor> sources;
  for (const Variable& variable : network.trainable_variables()) sources.push_back(variable.value());
  GradientTape tape;
  for (const Tensor& x : xs)
    if (!c.takes_ids) {
      tape.watch(x);
      sources.push_back(x);
    }
  const Tensor y = network(xs, Mode::train);
  const Tensor loss = sum(multiply(cast(y, DType::f32), random_tensor(y.shape(), 9, 0.5, 1.5)));
  return {y, network.variables(), tape.gradient(loss, sources)};
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

void expect_near(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const std::vector<double> exact = expected.to_vector<double>();
  // Sums in f32 of products of rounded factors, rounded again: a few bf16 roundings each.
  const double allowed = tolerance(DType::bf16, 1, largest(exact)) + 1e-6;
  EXPECT_THAT(actual.to_vector<double>(), testing::Pointwise(testing::DoubleNear(allowed), exact)) << what;
}

class MixedBfloat16 : public testing::TestWithParam<Case> {};

TEST_P(MixedBfloat16, ResultsAreBf16AndVariablesF32) {
  const Results mixed = run(GetParam(), DTypePolicy::mixed_bfloat16);
  EXPECT_EQ(mixed.y.dtype(), DType::bf16);
  for (const Variable& variable : mixed.variables) EXPECT_EQ(variable.dtype(), DType::f32) << variable.name();
  for (const Tensor& gradient : mixed.gradients) {
    ASSERT_TRUE(gradient.defined());
    EXPECT_EQ(gradient.dtype(), DType::f32);
  }
}

TEST_P(MixedBfloat16, IsNearF32) {
  const Results mixed = run(GetParam(), DTypePolicy::mixed_bfloat16);
  const Results exact = run(GetParam(), DTypePolicy::float32);
  EXPECT_EQ(exact.y.dtype(), DType::f32);
  expect_near(mixed.y, exact.y, "result");
  if (GetParam().computes_in_f32) expect_same_bits(mixed.y, cast(exact.y, DType::bf16));
  ASSERT_EQ(mixed.gradients.size(), exact.gradients.size());
  for (std::size_t i = 0; i < exact.gradients.size(); ++i)
    expect_near(mixed.gradients[i], exact.gradients[i], "gradient " + std::to_string(i));
  for (std::size_t i = 0; i < exact.variables.size(); ++i)
    expect_near(mixed.variables[i].value(), exact.variables[i].value(), exact.variables[i].name());
}

INSTANTIATE_TEST_SUITE_P(Layers, MixedBfloat16, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lockstep::test
