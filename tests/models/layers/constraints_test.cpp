#include <cmath>

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/keras_names.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/lstm.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

using Json = nlohmann::ordered_json;

/// Applies the constraint to `values`, which have two rows.
std::vector<float> constrained(const Constraint& constraint, const std::vector<float>& values) {
  const Tensor weight = Tensor::from(values, {2, static_cast<std::int64_t>(values.size()) / 2});
  constraint(weight);
  return weight.to_vector<float>();
}

// The columns have norms of 5, 1 and 0, the rows sqrt(9.36) and sqrt(16.64). Keras 3 divides by the norm + 1e-7, a
// difference that f32 does not resolve here.
TEST(Constraints, AreKerasFunctions) {
  const std::vector<float> w{3, 0.6F, 0, -4, 0.8F, 0};
  const auto are = [](const std::vector<float>& values) { return testing::Pointwise(testing::FloatEq(), values); };
  EXPECT_THAT(constrained(MaxNorm(), w), are({1.2F, 0.6F, 0, -1.6F, 0.8F, 0}));
  EXPECT_THAT(constrained(MaxNorm(0.5), w), are({0.3F, 0.3F, 0, -0.4F, 0.4F, 0}));
  EXPECT_THAT(constrained(UnitNorm(), w), are({0.6F, 0.6F, 0, -0.8F, 0.8F, 0}));
  EXPECT_THAT(constrained(MinMaxNorm(), w), are({0.6F, 0.6F, 0, -0.8F, 0.8F, 0}));
  EXPECT_THAT(constrained(MinMaxNorm({.min_value = 2, .max_value = 4}), w), are({2.4F, 1.2F, 0, -3.2F, 1.6F, 0}));
  EXPECT_THAT(constrained(MinMaxNorm({.min_value = 2, .max_value = 4, .rate = 0.5}), w),
              are({2.7F, 0.9F, 0, -3.6F, 1.2F, 0}));
  EXPECT_THAT(constrained(NonNeg(), w), are({3, 0.6F, 0, 0, 0.8F, 0}));
  const float first = std::sqrt(9.36F);
  const float second = std::sqrt(16.64F);
  for (const NormAxes& axis : {NormAxes(1), NormAxes(-1), NormAxes{1}})
    EXPECT_THAT(constrained(UnitNorm(axis), w), are({3 / first, 0.6F / first, 0, -4 / second, 0.8F / second, 0}));
  EXPECT_THAT(constrained(MaxNorm(1, {0, 1}), {1, 1, -1, 1}), are({0.5F, 0.5F, -0.5F, 0.5F}));
}

TEST(Constraints, RefuseWhatTheyCannotTake) {
  EXPECT_ERROR(InvalidArgument, "0 <= min_value <= max_value and a rate in [0, 1], got 0, -1 and 1", MaxNorm(-1));
  EXPECT_ERROR(InvalidArgument, "got 2, 1 and 1", MinMaxNorm({.min_value = 2}));
  EXPECT_ERROR(InvalidArgument, "got 0, 1 and 1.5", MinMaxNorm({.rate = 1.5}));
  EXPECT_ERROR(InvalidArgument, "the constraint of 'layer/bias', (2): axis 1 is out of range for rank 1",
               built(Dense({.units = 2, .bias_constraint = UnitNorm(1)}), {{3}}));
  EXPECT_FALSE(Constraint());
  EXPECT_TRUE(NonNeg());
}

TEST(Constraints, HaveKerasConfigs) {
  EXPECT_EQ(constraint_config(MaxNorm(3)), Json::parse(R"({"module": "keras.constraints", "class_name": "MaxNorm",
      "config": {"max_value": 3.0, "axis": 0}, "registered_name": null})"));
  EXPECT_EQ(constraint_config(UnitNorm({0, 1, 2}))["config"], Json::parse(R"({"axis": [0, 1, 2]})"));
  EXPECT_EQ(constraint_config(MinMaxNorm({.max_value = 2, .rate = 0.5, .axis = -1}))["config"],
            Json::parse(R"({"min_value": 0.0, "max_value": 2.0, "rate": 0.5, "axis": -1})"));
  EXPECT_EQ(constraint_config(NonNeg())["config"], Json::object());
  EXPECT_EQ(constraint_config({}), nullptr);
}

// Keras 2 wrote objects without a module; programs and Keras 1 used names.
TEST(Constraints, AreFoundByKerasNames) {
  const auto config = [](const char* text) {
    const auto found = find_constraint(Json::parse(text));
    return found ? constraint_config(*found) : Json("none");
  };
  EXPECT_EQ(config("null"), nullptr);
  EXPECT_EQ(config(R"("max_norm")"), constraint_config(MaxNorm()));
  EXPECT_EQ(config(R"("MaxNorm")"), constraint_config(MaxNorm()));
  EXPECT_EQ(config(R"("non_neg")"), constraint_config(NonNeg()));
  EXPECT_EQ(config(R"("unit_norm")"), constraint_config(UnitNorm()));
  EXPECT_EQ(config(R"("min_max_norm")"), constraint_config(MinMaxNorm()));
  EXPECT_EQ(config(R"({"class_name": "MaxNorm", "config": {"max_value": 4, "axis": [0, 1]}})"),
            constraint_config(MaxNorm(4, {0, 1})));
  EXPECT_EQ(config(R"({"class_name": "NonNeg", "config": {}})"), constraint_config(NonNeg()));
  for (const char* unknown : {R"("RadialConstraint")", "3", R"({"class_name": "MaxNorm", "config": {"max_value": -1}})",
                              R"({"class_name": "UnitNorm", "config": {"axis": "all"}})",
                              R"({"class_name": "UnitNorm", "config": {"axis": null}})"})
    EXPECT_EQ(config(unknown), "none") << unknown;
}

/// Whether each weight has a constraint.
std::vector<bool> constrained_weights(const Layer& layer, const Shape& input) {
  std::vector<bool> constrained;
  const Layer made = built(layer, {input});
  for (const Variable& variable : made.impl().variables())
    constrained.push_back(variable.state().spec().constraint != nullptr);
  return constrained;
}

TEST(Constraints, AreThoseOfTheWeightsThatTheyAreGivenFor) {
  using testing::ElementsAre;
  const Constraint c = NonNeg();
  EXPECT_THAT(constrained_weights(Dense({.units = 2}), {3}), ElementsAre(false, false));
  EXPECT_THAT(constrained_weights(Dense({.units = 2, .kernel_constraint = c}), {3}), ElementsAre(true, false));
  EXPECT_THAT(constrained_weights(Dense({.units = 2, .bias_constraint = c}), {3}), ElementsAre(false, true));
  const Size2d size{1, 1};
  const Shape image{3, 3, 2};
  EXPECT_THAT(constrained_weights(Conv2D({.filters = 2, .kernel_size = size, .kernel_constraint = c}), image),
              ElementsAre(true, false));
  EXPECT_THAT(constrained_weights(Conv2D({.filters = 2, .kernel_size = size, .bias_constraint = c}), image),
              ElementsAre(false, true));
  EXPECT_THAT(constrained_weights(DepthwiseConv2D({.kernel_size = size, .depthwise_constraint = c}), image),
              ElementsAre(true, false));
  EXPECT_THAT(constrained_weights(DepthwiseConv2D({.kernel_size = size, .bias_constraint = c}), image),
              ElementsAre(false, true));
  const auto separable = [&](SeparableConv2DOptions options) {
    options.filters = 2;
    options.kernel_size = size;
    return constrained_weights(SeparableConv2D(options), image);
  };
  EXPECT_THAT(separable({.depthwise_constraint = c}), ElementsAre(true, false, false));
  EXPECT_THAT(separable({.pointwise_constraint = c}), ElementsAre(false, true, false));
  EXPECT_THAT(separable({.bias_constraint = c}), ElementsAre(false, false, true));
  EXPECT_THAT(constrained_weights(Embedding({.input_dim = 2, .output_dim = 2, .embeddings_constraint = c}), {3}),
              ElementsAre(true));
  EXPECT_THAT(constrained_weights(BatchNormalization({.beta_constraint = c}), {3}),
              ElementsAre(false, true, false, false));
  EXPECT_THAT(constrained_weights(BatchNormalization({.gamma_constraint = c}), {3}),
              ElementsAre(true, false, false, false));
  EXPECT_THAT(constrained_weights(LayerNormalization({.beta_constraint = c}), {3}), ElementsAre(false, true));
  EXPECT_THAT(constrained_weights(LayerNormalization({.gamma_constraint = c}), {3}), ElementsAre(true, false));
  const Shape sequence{4, 3};
  EXPECT_THAT(constrained_weights(LSTM({.units = 2, .kernel_constraint = c}), sequence),
              ElementsAre(true, false, false));
  EXPECT_THAT(constrained_weights(LSTM({.units = 2, .recurrent_constraint = c}), sequence),
              ElementsAre(false, true, false));
  EXPECT_THAT(constrained_weights(GRU({.units = 2, .bias_constraint = c}), sequence), ElementsAre(false, false, true));
}

}  // namespace
}  // namespace lockstep::test
