#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/conv1d.h>
#include <lockstep/models/layers/conv_transpose.h>

#include "layer_case.h"

namespace lockstep::test {

std::vector<LayerCase> convolution_layer_cases() {
  const Shape image{6, 5, 4};
  const Shape steps{9, 4};
  return {
      {"Conv1D", [] { return Conv1D({.filters = 3, .kernel_size = 3, .strides = 2}); }, {steps}},
      {"Conv1D causal",
       [] {
         return Conv1D({.filters = 4,
                        .kernel_size = 3,
                        .padding = Padding1d::causal,
                        .dilation_rate = 2,
                        .groups = 2,
                        .activation = Activation::gelu,
                        .use_bias = false,
                        .kernel_initializer = he_normal,
                        .kernel_regularizer = L1(0.5),
                        .activity_regularizer = L2(0.25)});
       },
       {steps}},
      {"Conv1D same", [] { return Conv1D({.filters = 3, .kernel_size = 2, .padding = Padding1d::same}); }, {steps}},
      {"Conv2D",
       [] {
         return Conv2D({.filters = 3, .kernel_size = 3, .dilation_rate = {1, 2}});
       },
       {image}},
      {"Conv2D with groups",
       [] {
         return Conv2D({.filters = 4,
                        .kernel_size = {3, 2},
                        .strides = {2, 1},
                        .padding = Padding::same,
                        .groups = 2,
                        .activation = Activation::gelu,
                        .use_bias = false,
                        .kernel_initializer = he_normal,
                        .bias_initializer = ones,
                        .kernel_regularizer = L1(0.5),
                        .bias_regularizer = L2(0.25),
                        .activity_regularizer = L1L2(0.5, 0.25),
                        .kernel_constraint = MaxNorm(3, {0, 1, 2}),
                        .bias_constraint = NonNeg()});
       },
       {image}},
      {"Conv2D with softmax",
       [] { return Conv2D({.filters = 3, .kernel_size = 2, .activation = Activation::softmax}); },
       {image}},
      {"DepthwiseConv1D",
       [] {
         return DepthwiseConv1D({.kernel_size = 3,
                                 .strides = 2,
                                 .padding = Padding::same,
                                 .depth_multiplier = 2,
                                 .activation = Activation::tanh,
                                 .depthwise_initializer = lecun_normal,
                                 .bias_regularizer = L2(0.5),
                                 .activity_regularizer = L1(0.25)});
       },
       {steps}},
      {"DepthwiseConv2D", [] { return DepthwiseConv2D({.kernel_size = 3, .strides = 2}); }, {image}},
      {"DepthwiseConv2D dilated",
       [] {
         return DepthwiseConv2D({.kernel_size = {3, 2},
                                 .padding = Padding::same,
                                 .depth_multiplier = 2,
                                 .dilation_rate = {2, 3},
                                 .activation = Activation::silu,
                                 .use_bias = false,
                                 .depthwise_initializer = lecun_normal,
                                 .depthwise_regularizer = L1L2(0.5, 0.25),
                                 .bias_regularizer = L2(0.5),
                                 .activity_regularizer = L2(0.75),
                                 .depthwise_constraint = UnitNorm({0, 1}),
                                 .bias_constraint = MinMaxNorm({.min_value = 0.5, .rate = 0.25})});
       },
       {image}},
      {"SeparableConv1D",
       [] {
         return SeparableConv1D({.filters = 3,
                                 .kernel_size = 2,
                                 .dilation_rate = 2,
                                 .depth_multiplier = 2,
                                 .use_bias = false,
                                 .pointwise_initializer = he_normal,
                                 .depthwise_regularizer = L1(0.5),
                                 .activity_regularizer = L1L2(0.25, 0.5),
                                 .pointwise_constraint = UnitNorm(2)});
       },
       {steps}},
      {"SeparableConv2D",
       [] { return SeparableConv2D({.filters = 5, .kernel_size = 3, .activation = Activation::tanh}); },
       {image}},
      {"SeparableConv2D with strides",
       [] {
         return SeparableConv2D({.filters = 3,
                                 .kernel_size = {3, 2},
                                 .strides = 2,
                                 .padding = Padding::same,
                                 .depth_multiplier = 2,
                                 .activation = Activation::silu,
                                 .use_bias = false,
                                 .depthwise_regularizer = L1(0.5),
                                 .pointwise_regularizer = L2(0.25),
                                 .activity_regularizer = L1(0.75),
                                 .depthwise_constraint = NonNeg(),
                                 .pointwise_constraint = UnitNorm(2),
                                 .bias_constraint = MaxNorm()});
       },
       {image}},
      {"Conv1DTranspose",
       [] {
         return Conv1DTranspose({.filters = 3,
                                 .kernel_size = 3,
                                 .strides = 2,
                                 .padding = Padding::same,
                                 .output_padding = 1,
                                 .bias_initializer = ones,
                                 .activity_regularizer = L1(0.5),
                                 .kernel_constraint = MaxNorm()});
       },
       {steps}},
      {"Conv1DTranspose dilated",
       [] { return Conv1DTranspose({.filters = 3, .kernel_size = 3, .dilation_rate = 2}); },
       {steps}},
      {"Conv2DTranspose",
       [] {
         return Conv2DTranspose({.filters = 3,
                                 .kernel_size = {3, 2},
                                 .strides = {2, 3},
                                 .padding = Padding::same,
                                 .output_padding = Size2d{0, 2},
                                 .activation = Activation::gelu,
                                 .use_bias = false,
                                 .kernel_initializer = he_normal,
                                 .kernel_regularizer = L1(0.5),
                                 .activity_regularizer = L2(0.5),
                                 .bias_constraint = NonNeg()});
       },
       {image}},
      {"Conv2DTranspose dilated",
       [] {
         return Conv2DTranspose({.filters = 3, .kernel_size = 3, .dilation_rate = {2, 3}});
       },
       {image}},
  };
}

}  // namespace lockstep::test
