#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/graph/plan.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

enum LayerNumber { norm, relu, sigmoid, conv, pool, join, plus, other_norm };

std::vector<Layer> layers() {
  return {BatchNormalization(),
          ActivationLayer(Activation::relu),
          ActivationLayer(Activation::sigmoid),
          Conv2D({.filters = 2, .kernel_size = {1, 1}}),
          MaxPooling2D(),
          Concatenate(),
          Add(),
          BatchNormalization()};
}

GraphCall call(LayerNumber layer, std::vector<int> inputs, std::int64_t channels = 3) {
  return {.layer = layer, .inputs = std::move(inputs), .shape = {4, 4, channels}};
}

/// The plan for calls that run in their order.
Plan plan_of(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
             const std::vector<Layer>& of = layers()) {
  std::vector<int> order(calls.size());
  std::iota(order.begin(), order.end(), 0);
  return plan_steps(calls, order, of, outputs, have_masks(of, calls));
}

/// The plan for calls whose last one is the output.
std::vector<PlanStep> steps_of(const std::vector<GraphCall>& calls, const std::vector<Layer>& of) {
  return plan_of(calls, {static_cast<int>(calls.size()) - 1}, of).steps;
}

TEST(Plan, ABatchNormDoesTheReluThatAloneReadsIt) {
  const std::vector<PlanStep> steps = steps_of({call(norm, {-1}), call(relu, {0}), call(conv, {1})}, layers());
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].layer, norm);
  EXPECT_TRUE(steps[0].fused_relu);
  EXPECT_EQ(steps[1].layer, conv);
  EXPECT_FALSE(steps[1].fused_relu);
  EXPECT_THAT(steps[1].inputs, ElementsAre(0));
}

TEST(Plan, AReluIsAStepWhereItCannotBeFused) {
  // Another reader needs batch norm's result without the ReLU.
  EXPECT_EQ(steps_of({call(norm, {-1}), call(relu, {0}), call(conv, {0}), call(join, {1, 2}, 6)}, layers()).size(), 4U);
  // Only a batch norm can fuse an activation, and only a ReLU is fused.
  EXPECT_EQ(steps_of({call(conv, {-1}), call(relu, {0})}, layers()).size(), 2U);
  EXPECT_EQ(steps_of({call(norm, {-1}), call(sigmoid, {0})}, layers()).size(), 2U);
  EXPECT_EQ(steps_of({call(relu, {-1})}, layers()).size(), 1U);
}

TEST(Plan, ABatchNormAddsTheOtherTermOfASumAndDoesItsRelu) {
  // As in a residual block: the shortcut is added to the batch norm's result.
  const std::vector<PlanStep> steps = steps_of(
      {call(conv, {-1}), call(conv, {0}), call(norm, {1}), call(plus, {0, 2}), call(relu, {3}), call(pool, {4})},
      layers());
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[2].layer, norm);
  EXPECT_THAT(steps[2].inputs, ElementsAre(1, 0));
  EXPECT_TRUE(steps[2].fused_relu);
  EXPECT_THAT(steps[2].last_reads, UnorderedElementsAre(0, 1));
  EXPECT_THAT(steps[3].inputs, ElementsAre(2));
}

TEST(Plan, TheLaterOfTwoBatchNormsAddsTheOther) {
  const std::vector<PlanStep> steps =
      steps_of({call(norm, {-1}), call(other_norm, {-1}), call(plus, {1, 0})}, layers());
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].layer, other_norm);
  EXPECT_THAT(steps[1].inputs, ElementsAre(-1, 0));
  EXPECT_FALSE(steps[1].fused_relu);
}

TEST(Plan, ASumIsAStepWhereItCannotBeFused) {
  const auto count = [](const std::vector<GraphCall>& calls) { return steps_of(calls, layers()).size(); };
  EXPECT_EQ(count({call(conv, {-1}), call(plus, {0, -1})}), 2U) << "a convolution cannot add";
  EXPECT_EQ(count({call(norm, {-1}), call(plus, {0, -1, -2})}), 2U) << "three terms";
  EXPECT_EQ(count({call(norm, {-1}), call(plus, {0, 0})}), 2U) << "one result twice";
  EXPECT_EQ(count({call(norm, {-1}), call(plus, {0, -1}), call(join, {0, 1}, 6)}), 3U)
      << "a result read elsewhere, too";
  EXPECT_EQ(count({call(norm, {-1}), call(relu, {0}), call(plus, {1, -1})}), 2U) << "a ReLU before the sum";
  GraphCall broadcast = call(plus, {0, -1});
  broadcast.broadcasts = true;
  EXPECT_EQ(count({call(norm, {-1}), broadcast}), 2U) << "a term of another shape";
  EXPECT_EQ(count({call(norm, {-1}), call(norm, {-2}), call(plus, {0, -1}), call(plus, {1, 2})}), 4U)
      << "a layer that is called twice updates its statistics in the order of its calls";
}

TEST(Plan, ConcatenatedResultsAreWrittenInPlace) {
  const std::vector<PlanStep> steps = steps_of(
      {call(norm, {-1}), call(relu, {0}), call(pool, {-1}, 5), call(join, {1, 2}, 8), call(conv, {3})}, layers());
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].concat, 2);
  EXPECT_EQ(steps[0].concat_begin, 0);
  EXPECT_EQ(steps[1].concat, 2);
  EXPECT_EQ(steps[1].concat_begin, 3);
  EXPECT_EQ(steps[2].concat, -1);
  EXPECT_EQ(steps[3].concat, -1);
}

TEST(Plan, ConcatenatedResultsAreCopiedWhenOneOfThemCannotBeWrittenInPlace) {
  const auto written_in_place = [](const std::vector<GraphCall>& calls) {
    int count = 0;
    for (const PlanStep& step : steps_of(calls, layers())) count += step.concat >= 0 ? 1 : 0;
    return count;
  };
  EXPECT_EQ(written_in_place({call(pool, {-1}), call(pool, {-1}), call(join, {0, 1}, 6)}), 2);
  EXPECT_EQ(written_in_place({call(pool, {-1}), call(conv, {-1}), call(join, {0, 1}, 6)}), 0) << "a convolution";
  EXPECT_EQ(written_in_place({call(pool, {-1}), call(join, {0, -1}, 6)}), 0) << "the network's input";
  EXPECT_EQ(written_in_place({call(pool, {-1}), call(join, {0, 0}, 6)}), 0) << "one result twice";
  EXPECT_EQ(written_in_place({call(pool, {-1}), call(pool, {-1}), call(join, {0, 1}, 6), call(join, {0, 2}, 9)}), 0)
      << "a result that is read elsewhere too";
}

// Most networks of keras.applications give the last axis of images as 3.
TEST(Plan, OnlyBatchNormsOfTheLastAxisAddAndWriteInPlace) {
  for (const auto& [axis, is_last] : {std::pair(-1, true), {3, true}, {1, false}, {2, false}, {-3, false}}) {
    std::vector<Layer> with_axis = layers();
    with_axis[norm] = BatchNormalization({.axis = axis});
    EXPECT_EQ(steps_of({call(conv, {-1}), call(norm, {0}), call(plus, {1, -1})}, with_axis).size(), is_last ? 2 : 3)
        << axis;
    const std::vector<PlanStep> steps =
        steps_of({call(norm, {-1}), call(pool, {-1}), call(join, {0, 1}, 6)}, with_axis);
    EXPECT_EQ(steps[0].concat, is_last ? 2 : -1) << axis;
  }
}

TEST(Plan, OnlyConcatenationsAlongTheLastAxisAreWrittenInPlace) {
  for (const auto& [axis, is_last] : {std::pair(-1, true), {3, true}, {1, false}, {2, false}, {-3, false}}) {
    std::vector<Layer> with_axis = layers();
    with_axis[join] = Concatenate({.axis = axis});
    const std::vector<PlanStep> steps =
        steps_of({call(pool, {-1}), call(pool, {-1}), call(join, {0, 1}, 6)}, with_axis);
    EXPECT_EQ(steps[0].concat, is_last ? 2 : -1) << axis;
  }
}

TEST(Plan, ResultsAreLetGoOfAfterTheirLastReader) {
  const std::vector<PlanStep> steps = steps_of(
      {call(conv, {-1}), call(conv, {0}), call(conv, {0}), call(join, {1, 2}, 6), call(join, {3, 2}, 9)}, layers());
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_THAT(steps[0].last_reads, IsEmpty());
  EXPECT_THAT(steps[1].last_reads, IsEmpty());
  EXPECT_THAT(steps[2].last_reads, ElementsAre(0));
  EXPECT_THAT(steps[3].last_reads, ElementsAre(1));
  EXPECT_THAT(steps[4].last_reads, UnorderedElementsAre(2, 3));
}

TEST(Plan, ResultsThatNobodyReadsAreLetGoOfAtOnce) {
  const Plan plan = plan_of({call(conv, {-1}), call(conv, {0}), call(conv, {0})}, {2});
  ASSERT_EQ(plan.steps.size(), 3U);
  EXPECT_THAT(plan.steps[1].last_reads, ElementsAre(1));
  EXPECT_THAT(plan.steps[2].last_reads, ElementsAre(0));
}

TEST(Plan, WhatIsAnOutputIsNeitherFusedNorWrittenIntoAConcatenationNorLetGo) {
  const std::vector<GraphCall> calls{call(norm, {-1}), call(relu, {0}), call(pool, {1}), call(join, {1, 2}, 6)};
  const Plan plan = plan_of(calls, {0, 2, 3});
  ASSERT_EQ(plan.steps.size(), 4U);
  EXPECT_THAT(plan.outputs, ElementsAre(0, 2, 3));
  EXPECT_FALSE(plan.steps[0].fused_relu);
  EXPECT_EQ(plan.steps[2].concat, -1);
  EXPECT_THAT(plan.steps[1].last_reads, IsEmpty());
  EXPECT_THAT(plan.steps[3].last_reads, UnorderedElementsAre(1));
  // A fused ReLU has the result of the step that computes it.
  EXPECT_THAT(plan_of({call(norm, {-1}), call(relu, {0})}, {1}).outputs, ElementsAre(0));
}

TEST(Plan, RunsCallsInTheOrderAskedFor) {
  // The second branch runs first; its ReLU is still fused.
  const std::vector<GraphCall> calls{call(conv, {-1}), call(norm, {-1}), call(relu, {1}), call(join, {0, 2}, 6)};
  const Plan plan = plan_steps(calls, {1, 2, 0, 3}, layers(), {3}, false);
  ASSERT_EQ(plan.steps.size(), 3U);
  EXPECT_EQ(plan.steps[0].layer, norm);
  EXPECT_TRUE(plan.steps[0].fused_relu);
  EXPECT_EQ(plan.steps[1].layer, conv);
  EXPECT_THAT(plan.steps[2].inputs, ElementsAre(1, 0));
  EXPECT_THAT(plan.outputs, ElementsAre(2));
}

TEST(Plan, StepsOfDifferentDTypesAreNotJoined) {
  std::vector<Layer> of = layers();
  of[relu].impl().set_dtype_policy(DTypePolicy::mixed_bfloat16);
  EXPECT_EQ(steps_of({call(norm, {-1}), call(relu, {0})}, of).size(), 2U);
  of[norm].impl().set_dtype_policy(DTypePolicy::mixed_bfloat16);
  EXPECT_EQ(steps_of({call(norm, {-1}), call(relu, {0})}, of).size(), 1U);
  const std::vector<GraphCall> joined{call(norm, {-1}), call(pool, {-1}), call(join, {0, 1}, 6)};
  of[join].impl().set_dtype_policy(DTypePolicy::mixed_bfloat16);
  EXPECT_EQ(steps_of(joined, of)[0].concat, -1) << "the pooling gives f32";
  of[pool].impl().set_dtype_policy(DTypePolicy::mixed_bfloat16);
  EXPECT_EQ(steps_of(joined, of)[0].concat, 2);
}

}  // namespace
}  // namespace lockstep
