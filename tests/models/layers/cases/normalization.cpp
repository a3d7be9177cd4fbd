#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/layer_normalization.h>

#include "layer_case.h"

namespace lockstep::test {

std::vector<LayerCase> normalization_layer_cases() {
  const Shape image{3, 4, 4};
  const Shape steps{6, 4};
  return {
      {"BatchNormalization", [] { return BatchNormalization(); }, {image}, {.depends_on_batch = true}},
      {"BatchNormalization at inference", [] { return BatchNormalization(); }, {image}, {.mode = Mode::inference}},
      {"BatchNormalization of axis 1",
       [] { return BatchNormalization({.axis = 1}); },
       {image},
       {.depends_on_batch = true,
        .mask_refusal = "BatchNormalization trains on masked sequences only along the last axis"}},
      {"BatchNormalization masked",
       [] { return BatchNormalization(); },
       {steps},
       {.masked = true, .depends_on_batch = true}},
      {"BatchNormalization synchronized",
       [] {
         return BatchNormalization({.momentum = 0.5,
                                    .epsilon = 0.25,
                                    .synchronized = true,
                                    .scale = false,
                                    .beta_constraint = NonNeg(),
                                    .gamma_constraint = MaxNorm()});
       },
       {image},
       {.depends_on_batch = true, .synchronized = true}},
      {"BatchNormalization penalized",
       [] {
         return BatchNormalization({.beta_initializer = constant(0.25),
                                    .gamma_initializer = random_normal({.mean = 1, .stddev = 0.25}),
                                    .moving_mean_initializer = constant(-0.5),
                                    .moving_variance_initializer = constant(2),
                                    .beta_regularizer = L1(0.5),
                                    .gamma_regularizer = L2(0.25)});
       },
       {image},
       {.depends_on_batch = true}},
      {"BatchNormalization synchronized and masked",
       [] { return BatchNormalization({.synchronized = true, .center = false}); },
       {steps},
       {.masked = true, .depends_on_batch = true, .synchronized = true}},
      {"LayerNormalization", [] { return LayerNormalization(); }, {steps}},
      {"LayerNormalization of two axes",
       [] {
         return LayerNormalization({.axis = {1, 3}, .scale = false});
       },
       {image}},
      {"LayerNormalization without beta",
       [] {
         return LayerNormalization({.epsilon = 0.25,
                                    .center = false,
                                    .gamma_initializer = random_normal(),
                                    .beta_regularizer = L1(0.5),
                                    .beta_constraint = NonNeg(),
                                    .gamma_constraint = MaxNorm()});
       },
       {steps}},
      {"GroupNormalization", [] { return GroupNormalization({.groups = 2}); }, {image}},
      {"GroupNormalization of axis 2",
       [] {
         return GroupNormalization({.groups = -1,
                                    .axis = 2,
                                    .epsilon = 0.25,
                                    .center = false,
                                    .gamma_regularizer = L2(0.5),
                                    .beta_constraint = NonNeg()});
       },
       {image}},
      {"RMSNormalization", [] { return RMSNormalization(); }, {steps}},
      {"RMSNormalization of two axes",
       [] {
         return RMSNormalization({.axis = {-2, -1}, .epsilon = 0.25});
       },
       {steps}},
      {"UnitNormalization", [] { return UnitNormalization(); }, {steps}},
      {"UnitNormalization of two axes",
       [] {
         return UnitNormalization({.axis = {1, 2}});
       },
       {image}},
  };
}

}  // namespace lockstep::test
