#include <array>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/single_head_attention.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/training/clone_model.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/thread/device_scope.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

Tensor step_of(const Tensor& x, std::int64_t step) {
  Shape shape{x.dim(0)};
  for (int axis = 2; axis < x.rank(); ++axis) shape.push_back(x.dim(axis));
  return reshape(slice(x, 1, step, step + 1), shape);
}

TEST(TimeDistributedLayer, AppliesTheLayerToEveryStep) {
  const auto kernel_of = [](const Layer& layer) { return weight(layer, 0); };
  const TimeDistributed layer = built(TimeDistributed(Conv2D({.filters = 2, .kernel_size = {2, 2}})), {{3, 5, 4, 3}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/conv2d/kernel (2, 2, 3, 2)", "layer/conv2d/bias (2)"));
  EXPECT_EQ(shape_after(layer, {{3, 5, 4, 3}}), Shape({3, 4, 3, 2}));
  const Conv2D alone = built(Conv2D({.filters = 2, .kernel_size = {2, 2}}), {{5, 4, 3}});
  expect_same_bits(kernel_of(layer), kernel_of(alone));
  const Tensor x = random_tensor({2, 3, 5, 4, 3}, 1);
  const Tensor y = call(layer, {x});
  for (std::int64_t step = 0; step < 3; ++step)
    expect_close(step_of(y, step), call(alone, {step_of(x, step)}).to_vector<double>(), 12);
}

TEST(TimeDistributedLayer, NormalizesEachStepInTraining) {
  const TimeDistributed layer = built(TimeDistributed(BatchNormalization({.momentum = 0.5})), {{2, 3}});
  const BatchNormalization alone = built(BatchNormalization({.momentum = 0.5}), {{3}});
  const Tensor x = random_tensor({4, 2, 3}, 1);
  const Tensor y = call(layer, {x}, {.mode = Mode::train});
  for (std::int64_t step = 0; step < 2; ++step)
    expect_same_bits(step_of(y, step), call(alone, {dense_copy(step_of(x, step))}, {.mode = Mode::train}));
  for (int statistic = 2; statistic < 4; ++statistic)
    expect_same_bits(weight(layer, statistic), weight(alone, statistic));
  expect_same_bits(call(layer, {x}), reshape(call(alone, {reshape(x, {8, 3})}), {4, 2, 3}));
}

TEST(TimeDistributedLayer, DropsElementsOfEachStep) {
  const TimeDistributed layer = built(TimeDistributed(Dropout({.rate = 0.5})), {{2, 64}});
  const Tensor y = call(layer, {Tensor::full({1, 2, 64}, 1)}, {.mode = Mode::train});
  EXPECT_NE(step_of(y, 0).to_vector<float>(), step_of(y, 1).to_vector<float>());
}

// As in Keras, each step has its own part of the mask.
TEST(TimeDistributedLayer, GivesTheLayerTheMaskOfEachStep) {
  const TimeDistributed layer = built(TimeDistributed(BatchNormalization({.momentum = 0.5})), {{2, 3}});
  const BatchNormalization alone = built(BatchNormalization({.momentum = 0.5}), {{3}});
  const Tensor x = random_tensor({4, 2, 3}, 1);
  const Tensor mask = not_equal(Tensor::from<float>({1, 0, 0, 1, 1, 1, 1, 0}, {4, 2}), 0);
  const std::vector<Tensor> masks{mask};
  const Tensor y = call(layer, {x}, {.mode = Mode::train, .masks = masks});
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::vector<Tensor> of_step{step_of(mask, step)};
    const Tensor expected = call(alone, {dense_copy(step_of(x, step))}, {.mode = Mode::train, .masks = of_step});
    expect_same_bits(step_of(y, step), expected);
  }
  const TimeDistributed steps(LSTM({.units = 2}));
  EXPECT_ERROR(InvalidArgument, "masked_recurrence over",
               call(built(steps, {{2, 4, 3}}), {random_tensor({4, 2, 4, 3}, 1)}, {.masks = masks}));
}

Sequential encoder() {
  return Sequential({4}, {Dense({.units = 3, .activation = Activation::tanh, .name = "first"}),
                          BatchNormalization({.momentum = 0.5, .name = "norm"}), Dense({.units = 2, .name = "last"})});
}

TEST(TimeDistributedLayer, AppliesAModelToEveryStep) {
  const Sequential model = encoder();
  const TimeDistributed layer = built(TimeDistributed(model), {{3, 4}});
  EXPECT_EQ(shape_after(layer, {{5, 4}}), Shape({5, 2}));
  EXPECT_EQ(layer.impl().variables(), model.variables());
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor y = call(layer, {x});
  for (std::int64_t step = 0; step < 3; ++step)
    expect_close(step_of(y, step), model(step_of(x, step)).to_vector<double>(), 12);
  layer.impl().set_trainable(false);
  EXPECT_TRUE(model.trainable_variables().empty());
}

TEST(TimeDistributedLayer, AppliesAModelThatStartsAtTheResultOfALayer) {
  const Symbol x = Input({8});
  const Symbol hidden = Dense({.units = 4})(x);
  const Dense head({.units = 2});
  const Model whole(x, head(hidden));
  const Model upper(hidden, head(hidden));
  const TimeDistributed layer = built(TimeDistributed(upper), {{3, 4}});
  const Tensor steps = random_tensor({2, 3, 4}, 1);
  const Tensor y = call(layer, {steps});
  for (std::int64_t step = 0; step < 3; ++step)
    expect_close(step_of(y, step), upper(step_of(steps, step)).to_vector<double>(), 4);
}

TEST(TimeDistributedLayer, TrainsAModelStepByStep) {
  const Sequential model = encoder();
  const Sequential alone = encoder();
  const TimeDistributed layer = built(TimeDistributed(model), {{3, 4}});
  const Tensor x = random_tensor({5, 3, 4}, 1);
  const Tensor y = call(layer, {x}, {.mode = Mode::train});
  for (std::int64_t step = 0; step < 3; ++step)
    expect_same_bits(step_of(y, step), alone(dense_copy(step_of(x, step)), Mode::train));
  for (std::size_t i = 0; i < alone.variables().size(); ++i)
    expect_same_bits(model.variables()[i].value(), alone.variables()[i].value());
}

TEST(TimeDistributedLayer, ClonesAModelWithWeightsOfTheSeed) {
  const Symbol steps = Input({3, 4});
  const Model model(steps, TimeDistributed(encoder())(steps));
  const auto kernel_of = [&](std::uint64_t seed) {
    return clone_model(model, seed).get_weights()[0].to_vector<float>();
  };
  EXPECT_EQ(kernel_of(1), kernel_of(1));
  EXPECT_NE(kernel_of(1), kernel_of(2));
}

TEST(TimeDistributedLayer, PassesMasksThroughAModel) {
  const Symbol words = Input({4, 3});
  const Symbol y = Add()({Dense({.units = 3})(words), words});
  const Model model(words, GRU({.units = 2})(y));
  const TimeDistributed layer = built(TimeDistributed(model), {{2, 4, 3}});
  const Tensor x = random_tensor({1, 2, 4, 3}, 1);
  const Tensor mask = not_equal(Tensor::from<float>({1, 1, 1, 0, 1, 1, 0, 0}, {1, 2, 4}), 0);
  const std::vector<Tensor> masks{mask};
  const Tensor masked = call(layer, {x}, {.masks = masks});
  const Tensor sentences = reshape(x, {2, 4, 3});
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::int64_t length = 3 - step;
    const Tensor sentence = slice(slice(sentences, 0, step, step + 1), 1, 0, length);
    const GRU alone = built(GRU({.units = 2}), {{4, 3}});
    for (std::size_t i = 0; i < 3; ++i)
      alone.impl().variables()[i].assign(model.get_layer("gru").impl().variables()[i].value());
    const Layer dense = model.get_layer("dense");
    expect_close(step_of(masked, step), call(alone, {call(dense, {sentence}) + sentence}).to_vector<double>(), 12);
  }
}

// Documents of sentences of words: the mask of the words says which sentences there are.
TEST(TimeDistributedLayer, MasksStepsWithoutUnmaskedElements) {
  const Symbol ids = Input({3, 4});
  const Symbol words = Embedding({.input_dim = 5, .output_dim = 3, .mask_zero = true})(ids);
  const Symbol sentences = TimeDistributed(LSTM({.units = 2}))(words);
  const Model model(ids, GRU({.units = 2})(sentences));
  const Tensor documents = Tensor::from<float>({1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 1, 0}, {1, 3, 4});
  const Tensor first = Tensor::from<float>({1, 2}, {1, 2});
  const Tensor second = Tensor::from<float>({3, 4, 1}, {1, 3});
  const auto& variables = model.variables();
  const LSTM reader = built(LSTM({.units = 2}), {{4, 3}});
  const GRU last = built(GRU({.units = 2}), {{2, 2}});
  for (std::size_t i = 0; i < 3; ++i) {
    reader.impl().variables()[i].assign(variables[1 + i].value());
    last.impl().variables()[i].assign(variables[4 + i].value());
  }
  const auto read = [&](const Tensor& sentence) {
    return call(reader, {take(variables[0].value(), cast(sentence, DType::i64), 0)});
  };
  const Tensor expected = call(last, {stack(std::array{read(first), read(second)}, 1)});
  expect_close(model(documents), expected.to_vector<double>(), 12);
}

// All of these models have the same seed.
TEST(TimeDistributedLayer, SharesNoRandomNumbersWithTheLayersAroundIt) {
  const Symbol x = Input({3, 4});
  const Sequential steps({4}, {Dense({.units = 4}), Dense({.units = 4})});
  const Model inner(x, TimeDistributed(steps)(Dense({.units = 4})(x)));
  const Symbol y = Input({3, 4});
  const Model outer(y, Dense({.units = 4})(inner(y)));
  const std::vector<Tensor> weights = outer.get_weights();
  ASSERT_EQ(weights.size(), 8U);
  for (std::size_t i = 0; i < weights.size(); i += 2)
    for (std::size_t j = 0; j < i; j += 2) EXPECT_NE(weights[i].to_vector<float>(), weights[j].to_vector<float>());
}

TEST(TimeDistributedLayer, RunsAModelsLayersWithMasksWhereTheyWerePlaced) {
  const Symbol x = Input({4});
  const Symbol y = with_device("CPU:1", [&] { return Dense({.units = 1000})(x); });
  const TimeDistributed layer = built(TimeDistributed(Model(x, y)), {{3, 4}});
  const std::vector<Tensor> masks{Tensor::full({2, 3}, 1, DType::boolean)};
  CachingAllocator& there = allocator({DeviceKind::cpu, 1});
  for (const LayerCall& with : {LayerCall(), LayerCall{.masks = masks}}) {
    there.reset_peak();
    const std::size_t before = there.stats().bytes_in_use;
    const Tensor result = call(layer, {random_tensor({2, 3, 4}, 1)}, with);
    EXPECT_EQ(result.shape(), Shape({2, 3, 1000}));
    EXPECT_GE(there.stats().bytes_peak, before + 6 * 1000 * sizeof(float));
  }
}

TEST(TimeDistributedLayer, RefusesModelsThatItCannotTake) {
  const Symbol x = Input({4});
  const Symbol y = Input({4});
  EXPECT_ERROR(InvalidArgument, "model 'two' has 2 inputs and 1 outputs; a model inside a layer needs one of each",
               TimeDistributed(Model({x, y}, Add()({x, y}), {.name = "two"})));
  const Symbol sequence = Input({4, 2}, "x", 3);
  const Model stateful(sequence, GRU({.units = 2, .stateful = true})(sequence), {.name = "m"});
  EXPECT_ERROR(InvalidArgument,
               "layer 'gru' of model 'm' is stateful, which layers of a model inside a layer cannot be",
               TimeDistributed(stateful, "steps"));
  const Sequential model = encoder();
  EXPECT_ERROR(InvalidArgument, "layer 'sequential' is a model that takes (4), got (5)",
               shape_after(TimeDistributed(model), {{3, 5}}));
  const Symbol steps = Input({3, 4});
  const Symbol all = TimeDistributed(model)(steps);
  EXPECT_ERROR(InvalidArgument, "layer 'first' is a sublayer, which only its outer layer can call",
               Network({steps, x}, {all, model(x)}, 1));
  const TimeDistributed again(model);
  EXPECT_ERROR(InvalidArgument, "'sequential' cannot hold layer 'first', which another layer holds",
               built(again, {{3, 4}}));
}

TEST(TimeDistributedLayer, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "takes (time, ...) with at least one more axis, got (3)",
               shape_after(TimeDistributed(Dense({.units = 2})), {Shape{3}}));
  const Dense dense({.units = 2, .name = "shared"});
  built(TimeDistributed(dense), {{3, 2}});
  EXPECT_ERROR(InvalidArgument, "MultiHeadAttention is called with a query, a value, and perhaps a key",
               TimeDistributed(MultiHeadAttention({.num_heads = 1, .key_dim = 1}))(Input({2, 3, 4})));
  EXPECT_ERROR(InvalidArgument, "Attention is called with a query, a value, and perhaps a key",
               TimeDistributed(Attention(AttentionLayerOptions{}))(Input({2, 3, 4})));
  EXPECT_ERROR(InvalidArgument, "TimeDistributed takes a layer with one result, got GRU with several",
               shape_after(TimeDistributed(GRU({.units = 2, .return_state = true})), {{4, 3, 2}}));
  EXPECT_ERROR(InvalidArgument, "TimeDistributed 'layer' cannot hold layer 'shared', which has been built already",
               built(TimeDistributed(dense), {{3, 2}}));
  const Symbol x = Input({2});
  EXPECT_ERROR(InvalidArgument, "layer 'shared' is a sublayer, which only its outer layer can call",
               Network(x, dense(x), 1));
}

}  // namespace
}  // namespace lockstep::test
