#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/activity_regularization.h>
#include <lockstep/models/layers/application_layers.h>
#include <lockstep/models/layers/dot.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/keras_names.h>
#include <lockstep/models/layers/lambda.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/repeat.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/layers/resizing.h>

#include "layer_case.h"

namespace lockstep::test {
namespace {

/// A row for each function.
std::vector<LayerCase> activation_layer_cases() {
  std::vector<LayerCase> rows;
  for (int number = 0; number <= static_cast<int>(Activation::sparse_sigmoid); ++number) {
    const auto activation = static_cast<Activation>(number);
    const std::optional<std::string_view> known = activation_name(activation);
    rows.push_back({"Activation " + std::string(known ? *known : std::to_string(number)),
                    [=] { return ActivationLayer(activation); },
                    {{5}},
                    {.in_files = activation != Activation::keras_2_hard_sigmoid}});
  }
  return rows;
}

}  // namespace

std::vector<LayerCase> array_layer_cases() {
  const Shape image{5, 4, 4};
  const Shape steps{6, 4};
  std::vector<LayerCase> rows{
      {"ReLU", [] { return ReLU(); }, {image}},
      {"ReLU with bounds",
       [] { return ReLU({.max_value = 0.75, .negative_slope = 0.125, .threshold = 0.25}); },
       {image}},
      {"LeakyReLU", [] { return LeakyReLU({.negative_slope = 0.125}); }, {image}},
      {"ELU", [] { return ELU({.alpha = 0.5}); }, {image}},
      {"PReLU", [] { return PReLU(); }, {steps}},
      {"PReLU with shared axes",
       [] {
         return PReLU({.alpha_initializer = ones,
                       .alpha_regularizer = L2(0.5),
                       .alpha_constraint = NonNeg(),
                       .shared_axes = {1, 2}});
       },
       {image}},
      {"Softmax", [] { return Softmax(); }, {{9}}, {.mask_rank = 2}},
      {"Softmax with a mask", [] { return Softmax(); }, {{2, 9}, {1, 9}}, {.ids = {0, 2}}},
      {"Softmax of steps", [] { return Softmax(); }, {steps}, {.mask_refusal = "needs a mask of its input's shape"}},
      {"Softmax over two axes",
       [] {
         return Softmax({.axis = {1, -1}});
       },
       {image},
       {.mask_rank = 4}},
      {"Flatten", [] { return Flatten(); }, {image}},
      {"Reshape",
       [] {
         return Reshape({.target_shape = {8, -1}});
       },
       {image}},
      {"Permute",
       [] {
         return Permute({.dims = {3, 1, 2}});
       },
       {image}},
      {"ZeroPadding1D",
       [] {
         return ZeroPadding1D({.padding = {1, 2}});
       },
       {steps}},
      {"ZeroPadding2D",
       [] {
         return ZeroPadding2D({.padding = {1, 2, 3, 4}});
       },
       {image}},
      {"Cropping1D",
       [] {
         return Cropping1D({.cropping = {1, 2}});
       },
       {steps}},
      {"Cropping2D",
       [] {
         return Cropping2D({.cropping = {1, 0, 2, 1}});
       },
       {image}},
      {"Identity", [] { return Identity(); }, {image}},
      {"ActivityRegularization", [] { return ActivityRegularization({.l1 = 0.5, .l2 = 0.25}); }, {image}},
      {"RepeatVector", [] { return RepeatVector({.n = 3}); }, {{9}}},
      {"UpSampling1D", [] { return UpSampling1D({.size = 3}); }, {steps}},
      {"UpSampling2D",
       [] {
         return UpSampling2D({.size = {2, 3}});
       },
       {image}},
      {"UpSampling2D bicubic",
       [] { return UpSampling2D({.size = 2, .interpolation = Interpolation::bicubic}); },
       {image}},
      {"Resizing", [] { return Resizing({.height = 5, .width = 11}); }, {{8, 6, 3}}},
      {"Resizing cropped",
       [] {
         return Resizing({.height = 3,
                          .width = 4,
                          .interpolation = Interpolation::lanczos3,
                          .crop_to_aspect_ratio = true,
                          .fill_value = 2,
                          .antialias = true});
       },
       {{8, 6, 3}}},
      {"Resizing padded",
       [] { return Resizing({.height = 4, .width = 9, .pad_to_aspect_ratio = true, .fill_value = 2}); },
       {{8, 6, 3}}},
      {"CenterCrop", [] { return CenterCrop({.height = 3, .width = 5}); }, {{8, 6, 3}}},
      {"CenterCrop of small images", [] { return CenterCrop({.height = 6, .width = 8}); }, {{8, 6, 3}}},
      {"Masking", [] { return Masking({.mask_value = -1}); }, {steps}},
      {"CustomScaleLayer", [] { return CustomScaleLayer({.scale = 0.25}); }, {image, image}},
      {"LayerScale", [] { return LayerScale({.init_values = 0.5, .projection_dim = 4}); }, {image}},
      {"Lambda", [] { return Lambda([](const Tensor& x) { return x * x; }); }, {image}, {.in_files = false}},
      {"Add", [] { return Add(); }, {image, image, image}},
      {"Add broadcasts", [] { return Add(); }, {image, {4}}},
      {"Add masked", [] { return Add(); }, {steps, steps}, {.masked = true}},
      {"Average", [] { return Average(); }, {image, {4, 4}}},
      {"Maximum", [] { return Maximum(); }, {image, {4}}},
      {"Maximum masked", [] { return Maximum(); }, {steps, steps}, {.masked = true}},
      {"Minimum", [] { return Minimum(); }, {image, {4}}},
      {"Minimum masked", [] { return Minimum(); }, {steps, steps}, {.masked = true}},
      {"Multiply", [] { return Multiply(); }, {image, {4}}},
      {"Multiply masked", [] { return Multiply(); }, {steps, steps}, {.masked = true}},
      {"Subtract", [] { return Subtract(); }, {{4}, image}},
      {"Concatenate", [] { return Concatenate(); }, {image, {5, 4, 2}}},
      {"Concatenate along axis 2", [] { return Concatenate({.axis = 2}); }, {image, {5, 1, 4}}},
      {"Concatenate masked", [] { return Concatenate({.axis = 1}); }, {steps, {3, 4}}, {.masked = true}},
      {"Dot",
       [] {
         return Dot({.axes = {2, 1}});
       },
       {{3, 6}, {6, 4}}},
      {"Dot of one axis", [] { return Dot({.axes = {-1}}); }, {{6}, {6}}},
      {"Dot normalized",
       [] {
         return Dot({.axes = {2, 1}, .normalize = true});
       },
       {{3, 6}, {6, 4}}},
  };
  for (LayerCase& row : activation_layer_cases()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace lockstep::test
