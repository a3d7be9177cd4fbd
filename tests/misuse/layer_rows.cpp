#include <cmath>

#include "rows.h"

namespace lockstep::test {
namespace {

Shape called(const Layer& layer, const std::vector<Shape>& shapes) {
  std::vector<Symbol> inputs;
  for (const Shape& shape : shapes) inputs.push_back(Input(shape));
  return layer(inputs).shape();
}

Rows more_layer_rows() {
  return {
      misuse<InvalidArgument>("GRU", "no units", {"GRU", "got 0"}, [] { GRU({.units = 0}); }),
      misuse<InvalidArgument>("GRU", "vectors", {"GRU", "(4)"}, [] { called(GRU({.units = 2}), {{4}}); }),
      misuse<InvalidArgument>("SimpleRNN", "all inputs dropped", {"SimpleRNN", "got 1"},
                              [] { SimpleRNN({.units = 2, .dropout = 1}); }),
      misuse<InvalidArgument>("Bidirectional", "no recurrent layer", {"Bidirectional", "Dense"},
                              [] { Bidirectional(Dense({.units = 2})); }),
      misuse<InvalidArgument>("TimeDistributed", "vectors", {"TimeDistributed", "(4)"},
                              [] { called(TimeDistributed(Dense({.units = 2})), {{4}}); }),
      misuse<InvalidArgument>("LSTM", "no units", {"LSTM", "got 0"}, [] { LSTM({.units = 0}); }),
      misuse<InvalidArgument>("Dense", "two inputs", {"Dense", "got 2"},
                              [] {
                                called(Dense({.units = 2}), {{4}, {4}});
                              }),
      misuse<InvalidArgument>("DepthwiseConv2D", "a window without rows", {"DepthwiseConv2D", "kernel_size", "(0, 1)"},
                              [] {
                                DepthwiseConv2D({.kernel_size = {0, 1}});
                              }),
      misuse<InvalidArgument>("DepthwiseConv2D", "no depth_multiplier",
                              {"DepthwiseConv2D", "depth_multiplier", "got 0"},
                              [] {
                                DepthwiseConv2D({.kernel_size = {3, 3}, .depth_multiplier = 0});
                              }),
      misuse<InvalidArgument>("SeparableConv2D", "no filters", {"SeparableConv2D", "got 0"},
                              [] {
                                SeparableConv2D({.filters = 0, .kernel_size = {3, 3}});
                              }),
      misuse<InvalidArgument>(
          "SeparableConv2D", "strides and a dilation", {"SeparableConv2D", "dilation_rate"},
          [] {
            SeparableConv2D({.filters = 2, .kernel_size = {3, 3}, .strides = {2, 2}, .dilation_rate = {2, 2}});
          }),
      misuse<InvalidArgument>("SeparableConv2D", "no channels", {"SeparableConv2D", "(4, 4)"},
                              [] {
                                called(SeparableConv2D({.filters = 2, .kernel_size = {3, 3}}), {{4, 4}});
                              }),
      misuse<InvalidArgument>("AveragePooling2D", "a window without rows", {"AveragePooling2D", "pool_size", "(0, 1)"},
                              [] {
                                AveragePooling2D({.pool_size = {0, 1}});
                              }),
      misuse<InvalidArgument>("AveragePooling2D", "images smaller than the window",
                              {"AveragePooling2D", "2 x 2", "(1, 1, 1, 3)"},
                              [] {
                                called(AveragePooling2D(), {{1, 1, 3}});
                              }),
      misuse<InvalidArgument>("GlobalMaxPooling2D", "vectors", {"GlobalMaxPooling2D", "(4)"},
                              [] { called(GlobalMaxPooling2D(), {{4}}); }),
      misuse<InvalidArgument>("GlobalAveragePooling2D", "vectors", {"GlobalAveragePooling2D", "(4)"},
                              [] { called(GlobalAveragePooling2D(), {{4}}); }),
      misuse<InvalidArgument>("AdaptiveMaxPooling1D", "images", {"AdaptiveMaxPooling1D", "(4, 4, 3)"},
                              [] {
                                called(AdaptiveMaxPooling1D({.output_size = 2}), {{4, 4, 3}});
                              }),
      misuse<InvalidArgument>("AdaptiveAveragePooling1D", "no output_size",
                              {"AdaptiveAveragePooling1D", "output_size", "got 0"},
                              [] { AdaptiveAveragePooling1D({}); }),
      misuse<InvalidArgument>("AdaptiveMaxPooling2D", "no columns", {"AdaptiveMaxPooling2D", "(2, 0)"},
                              [] {
                                AdaptiveMaxPooling2D({.output_size = {2, 0}});
                              }),
      misuse<InvalidArgument>("AdaptiveAveragePooling2D", "sequences", {"AdaptiveAveragePooling2D", "(4, 3)"},
                              [] {
                                called(AdaptiveAveragePooling2D({.output_size = 2}), {{4, 3}});
                              }),
      misuse<InvalidArgument>("MaxPooling1D", "a stride of 0", {"MaxPooling1D", "strides", "got 0"},
                              [] { MaxPooling1D({.strides = 0}); }),
      misuse<InvalidArgument>("AveragePooling1D", "sequences shorter than the window",
                              {"AveragePooling1D", "1 x 2", "(1, 1, 1, 3)"},
                              [] {
                                called(AveragePooling1D(), {{1, 3}});
                              }),
      misuse<InvalidArgument>("GlobalMaxPooling1D", "images", {"GlobalMaxPooling1D", "(4, 4, 3)"},
                              [] {
                                called(GlobalMaxPooling1D(), {{4, 4, 3}});
                              }),
      misuse<InvalidArgument>("GlobalAveragePooling1D", "vectors", {"GlobalAveragePooling1D", "(4)"},
                              [] { called(GlobalAveragePooling1D(), {{4}}); }),
      misuse<InvalidArgument>("BatchNormalization", "two inputs", {"BatchNormalization", "got 2"},
                              [] {
                                called(BatchNormalization(), {{4}, {4}});
                              }),
      misuse<InvalidArgument>("LayerNormalization", "an epsilon of 0", {"LayerNormalization", "got 0"},
                              [] { LayerNormalization({.epsilon = 0}); }),
      misuse<InvalidArgument>("GroupNormalization", "channels that make no groups",
                              {"GroupNormalization", "32", "(4, 6)"},
                              [] {
                                called(GroupNormalization(), {{4, 6}});
                              }),
      misuse<InvalidArgument>("RMSNormalization", "an axis that is not the last", {"RMSNormalization", "(1)", "(4, 6)"},
                              [] {
                                called(RMSNormalization({.axis = {1}}), {{4, 6}});
                              }),
      misuse<InvalidArgument>("UnitNormalization", "an axis twice", {"UnitNormalization", "(1, -1)", "(4)"},
                              [] {
                                called(UnitNormalization({.axis = {1, -1}}), {{4}});
                              }),
      misuse<InvalidArgument>("LeakyReLU", "a negative slope", {"LeakyReLU", "negative_slope", "got -1"},
                              [] { LeakyReLU({.negative_slope = -1}); }),
      misuse<InvalidArgument>("ELU", "a negative alpha", {"ELU", "got -1"}, [] { ELU({.alpha = -1}); }),
      misuse<InvalidArgument>("Subtract", "three inputs", {"Subtract", "got 3"},
                              [] {
                                called(Subtract(), {{4}, {4}, {4}});
                              }),
      misuse<InvalidArgument>("Permute", "an axis twice", {"Permute", "(1, 1)"},
                              [] {
                                Permute({.dims = {1, 1}});
                              }),
      misuse<InvalidArgument>("Cropping2D", "borders of more rows than the image",
                              {"Cropping2D", "(1, 2)", "(3, 4, 5)"},
                              [] {
                                called(Cropping2D({.cropping = {1, 2, 0, 0}}), {{3, 4, 5}});
                              }),
      misuse<InvalidArgument>("Cropping1D", "images", {"Cropping1D", "(steps, features)", "(3, 4, 5)"},
                              [] {
                                called(Cropping1D(), {{3, 4, 5}});
                              }),
      misuse<InvalidArgument>("ZeroPadding1D", "a negative border", {"ZeroPadding1D", "padding", "got (-1, 0)"},
                              [] {
                                ZeroPadding1D({.padding = {-1, 0}});
                              }),
      misuse<InvalidArgument>("Rescaling", "no scale", {"Rescaling"}, [] { Rescaling({}); }),
      misuse<InvalidArgument>("Normalization", "a mean without a variance", {"Normalization", "got 1 and 0"},
                              [] { Normalization({.mean = {1}}); }),
      misuse<InvalidArgument>("CustomScaleLayer", "one input", {"CustomScaleLayer", "got 1"},
                              [] { called(CustomScaleLayer({.scale = 2}), {{4}}); }),
      misuse<InvalidArgument>("LayerScale", "no channels", {"LayerScale", "projection_dim", "got 0"},
                              [] { LayerScale({}); }),
      misuse<InvalidArgument>("StochasticDepth", "no rate", {"StochasticDepth", "drop_path_rate", "got -1"},
                              [] { StochasticDepth({}); }),
      misuse<InvalidArgument>("SpatialDropout1D", "no rate", {"SpatialDropout1D", "rate", "got -1"},
                              [] { SpatialDropout1D({}); }),
      misuse<InvalidArgument>("SpatialDropout2D", "sequences", {"SpatialDropout2D", "4 axes", "got 3"},
                              [] {
                                called(SpatialDropout2D({.rate = 0.5}), {{4, 3}});
                              }),
      misuse<InvalidArgument>("CategoryEncoding", "no categories", {"CategoryEncoding", "num_tokens", "got 0"},
                              [] { CategoryEncoding({}); }),
      misuse<InvalidArgument>("GaussianNoise", "a deviation above 1", {"GaussianNoise", "stddev", "got 2"},
                              [] { GaussianNoise({.stddev = 2}); }),
      misuse<InvalidArgument>("GaussianDropout", "a rate of 1", {"GaussianDropout", "rate", "got 1"},
                              [] { GaussianDropout({.rate = 1}); }),
      misuse<InvalidArgument>("EinsumDense", "no kernel", {"EinsumDense", "'ab->ac'"},
                              [] { EinsumDense({.equation = "ab->ac", .output_shape = {2}}); }),
      misuse<InvalidArgument>("Dot", "the batch axis", {"Dot", "axes", "got (0)"}, [] { Dot({.axes = {0}}); }),
      misuse<InvalidArgument>("RepeatVector", "a sequence", {"RepeatVector", "got (4, 3)"},
                              [] {
                                called(RepeatVector({.n = 2}), {{4, 3}});
                              }),
      misuse<InvalidArgument>("UpSampling2D", "a size of 0", {"UpSampling2D", "got (0, 0)"},
                              [] { UpSampling2D({.size = 0}); }),
      misuse<InvalidArgument>("RandomTranslation", "a shift by more than the image",
                              {"RandomTranslation", "width_factor", "[-2, 2]"},
                              [] { RandomTranslation({.width_factor = 2}); }),
      misuse<InvalidArgument>("RandomRotation", "an interpolation that it does not have", {"RandomRotation", "nearest"},
                              [] { RandomRotation({.factor = 0.5, .interpolation = Interpolation::bicubic}); }),
      misuse<InvalidArgument>("RandomCrop", "no width", {"RandomCrop", "got 4 x 0"}, [] { RandomCrop({.height = 4}); }),
      misuse<InvalidArgument>("RandomContrast", "a factor above 1", {"RandomContrast", "factor", "[-3, 3]"},
                              [] { RandomContrast({.factor = 3}); }),
      misuse<InvalidArgument>("RandomContrast", "a factor below 0",
                              {"RandomContrast", "factor", "at least 0", "[-0.5, -0.1]"},
                              [] {
                                RandomContrast({.factor = {-0.5, -0.1}});
                              }),
      misuse<InvalidArgument>("Resizing", "no height", {"Resizing", "got 0 x 4"}, [] { Resizing({.width = 4}); }),
      misuse<InvalidArgument>("Conv2DTranspose", "an output_padding that is not below the strides",
                              {"Conv2DTranspose", "output_padding", "got (1, 1) for (1, 1)"},
                              [] { Conv2DTranspose({.filters = 1, .kernel_size = 1, .output_padding = 1}); }),
      misuse<InvalidArgument>("Conv1DTranspose", "images", {"Conv1DTranspose", "got (4, 4, 3)"},
                              [] {
                                called(Conv1DTranspose({.filters = 1, .kernel_size = 1}), {{4, 4, 3}});
                              }),
      misuse<InvalidArgument>("DepthwiseConv1D", "vectors", {"DepthwiseConv1D", "got (4)"},
                              [] { called(DepthwiseConv1D({.kernel_size = 1}), {{4}}); }),
      misuse<InvalidArgument>("SeparableConv1D", "no filters", {"SeparableConv1D", "filters", "got 0"},
                              [] { SeparableConv1D({.kernel_size = 1}); }),
      misuse<InvalidArgument>("Conv1D", "images", {"Conv1D", "got (4, 4, 3)"},
                              [] {
                                called(Conv1D({.filters = 1, .kernel_size = 1}), {{4, 4, 3}});
                              }),
      misuse<InvalidArgument>("ReLU", "a negative bound", {"ReLU", "max_value", "got -1, 0 and 0"},
                              [] { ReLU({.max_value = -1}); }),
      misuse<InvalidArgument>("ReLU", "two inputs", {"ReLU", "got 2"},
                              [] {
                                called(ReLU(), {{4}, {4}});
                              }),
      misuse<InvalidArgument>("Softmax", "the batch axis", {"Softmax", "(0)", "(4)"},
                              [] { called(Softmax({.axis = {0}}), {{4}}); }),
      misuse<InvalidArgument>("PReLU", "an axis that is not there", {"PReLU", "(2)", "(4)"},
                              [] { called(PReLU({.shared_axes = {2}}), {{4}}); }),
      misuse<InvalidArgument>("Softmax", "a mask of another size", {"Softmax", "(4) and (3)"},
                              [] {
                                called(Softmax(), {{4}, {3}});
                              }),
      misuse<InvalidArgument>("ActivationLayer", "two inputs", {"got 2"},
                              [] {
                                called(ActivationLayer(Activation::relu), {{4}, {4}});
                              }),
      misuse<InvalidArgument>("Flatten", "two inputs", {"Flatten", "got 2"},
                              [] {
                                called(Flatten(), {{4}, {4}});
                              }),
      misuse<InvalidArgument>("Reshape", "two sizes to find out", {"Reshape", "(-1, -1)"},
                              [] {
                                Reshape({.target_shape = {-1, -1}});
                              }),
      misuse<InvalidArgument>("ZeroPadding2D", "a negative border", {"ZeroPadding2D", "(-1, 0)", "(0, 0)"},
                              [] {
                                ZeroPadding2D({.padding = {-1, 0, 0, 0}});
                              }),
      misuse<InvalidArgument>("ZeroPadding2D", "vectors", {"ZeroPadding2D", "(4)"},
                              [] { called(ZeroPadding2D(), {{4}}); }),
      misuse<InvalidArgument>("MaxNorm", "a negative norm", {"min_value", "max_value", "got 0, -1 and 1"},
                              [] { MaxNorm(-1); }),
      misuse<InvalidArgument>("MinMaxNorm", "a minimum above the maximum", {"min_value", "max_value", "got 2, 1 and 1"},
                              [] { MinMaxNorm({.min_value = 2, .max_value = 1}); }),
      misuse<InvalidArgument>("UnitNorm", "an axis that the weight does not have", {"axis 3"},
                              [] {
                                UnitNorm(3)(zeros({2, 2}));
                              }),
      misuse<InvalidArgument>("L1", "a negative factor", {"-1"}, [] { L1(-1); }),
      misuse<InvalidArgument>("L2", "a negative factor", {"-1"}, [] { L2(-1); }),
      misuse<InvalidArgument>("L1L2", "a negative factor", {"-1"}, [] { L1L2(1, -1); }),
      misuse<InvalidArgument>("L2", "an infinite factor", {"finite", "l2 = inf"}, [] { L2(HUGE_VAL); }),
      misuse<InvalidArgument>("variance_scaling", "a scale of 0", {"variance_scaling", "got 0"},
                              [] { variance_scaling({.scale = 0}); }),
  };
}

}  // namespace

Rows layer_rows() {
  const Rows rows{
      misuse<InvalidArgument>("Dense", "no units", {"Dense", "got 0"}, [] { Dense({.units = 0}); }),
      misuse<InvalidArgument>("Dense", "numbers", {"Dense"}, [] { called(Dense({.units = 3}), {{}}); }),
      misuse<InvalidArgument>("Dense", "no initializer", {"'dense'"},
                              [] {
                                const Symbol input = Input({4});
                                Model(input, Dense({.units = 3, .kernel_initializer = nullptr})(input));
                              }),
      misuse<InvalidArgument>("Conv2D", "vectors", {"(7)"},
                              [] {
                                called(Conv2D({.filters = 1, .kernel_size = {3, 3}}), {{7}});
                              }),
      misuse<InvalidArgument>("Conv2D", "images smaller than the window", {"Conv2D", "3 x 3", "(1, 2, 7, 1)"},
                              [] {
                                called(Conv2D({.filters = 1, .kernel_size = {3, 3}}), {{2, 7, 1}});
                              }),
      misuse<InvalidArgument>("MaxPooling2D", "vectors", {"MaxPooling2D", "(7)"},
                              [] { called(MaxPooling2D(), {{7}}); }),
      misuse<InvalidArgument>("LSTM", "vectors", {"(7)"}, [] { called(LSTM({.units = 2}), {{7}}); }),
      misuse<InvalidArgument>("BatchNormalization", "an epsilon of 0", {"BatchNormalization", "got 0"},
                              [] { BatchNormalization({.epsilon = 0}); }),
      misuse<InvalidArgument>("Dropout", "a rate of 1", {"got 1"}, [] { Dropout({.rate = 1}); }),
      misuse<InvalidArgument>("Dropout", "a rate that is no number", {"got nan"},
                              [] { Dropout({.rate = std::nan("")}); }),
      misuse<InvalidArgument>("Embedding", "no rows", {"Embedding", "input_dim", "got 0 and 5"},
                              [] { Embedding({.input_dim = 0, .output_dim = 5}); }),
      misuse<InvalidArgument>("Reshape", "another number of elements", {"Reshape", "(5)", "(2, 3)"},
                              [] {
                                called(Reshape({.target_shape = {5}}), {{2, 3}});
                              }),
      misuse<InvalidArgument>("Concatenate", "one input", {"got 1"}, [] { called(Concatenate(), {{3}}); }),
      misuse<InvalidArgument>("Add", "inputs of different shapes", {"Add", "(3)", "(4)"},
                              [] {
                                called(Add(), {{3}, {4}});
                              }),
      misuse<InvalidArgument>("Layer::operator()", "no input", {"got 0"}, [] { called(Dense({.units = 3}), {}); }),
      misuse<InvalidArgument>("DTypePolicyScope", "another name", {"'mixed_float16'", "mixed_bfloat16"},
                              [] { const DTypePolicyScope scope("mixed_float16"); }),
      misuse<LogicError>("LayerImpl::set_dtype_policy", "of a layer that has been built", {"'dense'"},
                         [] {
                           const Dense layer({.units = 3});
                           const Symbol input = Input({4});
                           const Model model(input, layer(input));
                           layer.impl().set_dtype_policy(DTypePolicy::mixed_bfloat16);
                         }),
  };
  return joined({rows, more_layer_rows()});
}

}  // namespace lockstep::test
