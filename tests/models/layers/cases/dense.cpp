#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/einsum_dense.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/preprocessing.h>

#include "layer_case.h"

namespace lockstep::test {

std::vector<LayerCase> dense_layer_cases() {
  const Shape image{3, 4, 4};
  return {
      {"Dense", [] { return Dense({.units = 7}); }, {{20}}},
      {"Dense of steps, masked", [] { return Dense({.units = 3}); }, {{6, 4}}, {.masked = true}},
      {"Dense with sigmoid", [] { return Dense({.units = 7, .activation = Activation::sigmoid}); }, {{20}}},
      {"Dense with softmax", [] { return Dense({.units = 7, .activation = Activation::softmax}); }, {{20}}},
      {"Dense without bias",
       [] {
         return Dense({.units = 3,
                       .activation = Activation::tanh,
                       .use_bias = false,
                       .kernel_regularizer = L2(0.5),
                       .activity_regularizer = L1(0.25),
                       .kernel_constraint = MaxNorm(),
                       .bias_constraint = UnitNorm()});
       },
       {image}},
      {"EinsumDense",
       [] {
         return EinsumDense({.equation = "abcd,de->aebc",
                             .output_shape = {7, -1, -1},
                             .activation = Activation::tanh,
                             .bias_axes = "e",
                             .activity_regularizer = L2(0.25)});
       },
       {image}},
      {"EinsumDense without bias",
       [] { return EinsumDense({.equation = "...x,xy->...y", .output_shape = {2}}); },
       {image}},
      {"Embedding", [] { return Embedding({.input_dim = 400, .output_dim = 3}); }, {{5}}, {.ids = {400}}},
      {"Embedding with mask_zero",
       [] {
         return Embedding({.input_dim = 5,
                           .output_dim = 2,
                           .embeddings_initializer = zeros,
                           .activity_regularizer = L2(0.5),
                           .embeddings_constraint = UnitNorm(1),
                           .mask_zero = true});
       },
       {{5, 2}},
       {.ids = {5}}},
      {"CategoryEncoding", [] { return CategoryEncoding({.num_tokens = 4}); }, {{3}}, {.ids = {5}}},
      {"CategoryEncoding as counts",
       [] { return CategoryEncoding({.num_tokens = 4, .output_mode = CategoryOutput::count}); },
       {{3}},
       {.ids = {4}}},
      {"CategoryEncoding of weighted ids",
       [] { return CategoryEncoding({.num_tokens = 4, .output_mode = CategoryOutput::count}); },
       {{3}, {3}},
       {.ids = {5}}},
      {"CategoryEncoding one by one",
       [] { return CategoryEncoding({.num_tokens = 4, .output_mode = CategoryOutput::one_hot}); },
       {{3}},
       {.ids = {4}}},
      {"Rescaling", [] { return Rescaling({.scale = {0.5}, .offset = {-1}}); }, {image}},
      {"Rescaling by channel",
       [] {
         return Rescaling({.scale = {0.5, 2, 3, 4}, .offset = {-1}});
       },
       {image}},
      {"Normalization", [] { return Normalization(); }, {image}},
      {"Normalization with statistics", [] { return Normalization({.mean = {0.5}, .variance = {2}}); }, {image}},
      {"Normalization of two axes",
       [] {
         return Normalization({.axis = {3, 1}});
       },
       {image}},
      {"Normalization of the whole input",
       [] { return Normalization({.axis = {}, .mean = {0.5}, .variance = {4}}); },
       {image}},
      {"Normalization with statistics of two axes",
       [] {
         return Normalization({.axis = {-3, -1},
                               .mean = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6},
                               .variance = {3, 4, 5, 6, 1, 2, 1, 2, 4, 3, 2, 1},
                               .shape = {3, 4}});
       },
       {image}},
      {"Normalization inverted",
       [] {
         return Normalization({.mean = {1, 2, 3, 4}, .variance = {3, 4, 5, 6}, .invert = true});
       },
       {image}},
  };
}

}  // namespace lockstep::test
