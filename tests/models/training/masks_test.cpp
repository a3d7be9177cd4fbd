#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/tolerance.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/losses/regression.h>

// Training on outputs with masks, whose losses count the time steps that are not masked.

namespace lockstep {
namespace {

/// Sentences of up to 6 words, of which 0 ends one; each word's label is its number modulo 3.
struct Sentences {
  explicit Sentences(std::int64_t count) {
    std::vector<std::int64_t> words;
    std::vector<std::int64_t> classes;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t step = 0; step < 6; ++step) {
        words.push_back(step <= i % 6 ? 1 + (7 * i + 5 * step) % 8 : 0);
        classes.push_back(words.back() % 3);
      }
    x = Tensor::from(words, {count, 6});
    y = Tensor::from(classes, {count, 6});
  }

  Tensor x;
  Tensor y;
};

Model tagger(const Strategy& strategy, Activation activation) {
  const auto inside = strategy.scope();
  const Symbol ids = Input({6});
  const Symbol words = Embedding({.input_dim = 9, .output_dim = 4, .mask_zero = true})(ids);
  const std::vector<Symbol> last = LSTM({.units = 5, .return_state = true}).results({words});
  const Symbol states = LSTM({.units = 5, .return_sequences = true})({words, last[1], last[2]});
  return {ids, Dense({.units = 3, .activation = activation})(states), {.seed = 3}};
}

/// The mean of the losses of unmasked steps, each times its example's weight.
double mean_by_hand(const Tensor& x, const Tensor& losses, const std::vector<double>& weights) {
  const std::vector<double> loss = losses.to_vector<double>();
  double total = 0;
  double count = 0;
  for (std::size_t i = 0; i < loss.size(); ++i) {
    if (x.data<std::int64_t>()[i] == 0) continue;
    total += weights[i / 6] * loss[i];
    ++count;
  }
  return total / count;
}

class MasksOn : public testing::TestWithParam<int> {};

TEST_P(MasksOn, TheLossIsTheMeanOverUnmaskedSteps) {
  const Sentences sentences(11);
  for (const Activation activation : {Activation::softmax, Activation::linear}) {
    const bool from_logits = activation == Activation::linear;
    const SparseCategoricalCrossentropy loss{{.from_logits = from_logits}};
    Model model = tagger(test::mirrored(GetParam()), activation);
    model.compile(SGD(), loss);
    const Tensor steps = reshape(model(sentences.x), {66, 3});
    const Tensor losses = loss(reshape(sentences.y, {66}), steps);
    std::vector<double> weights(11, 1);
    const double plain = model.evaluate(Dataset::from_tensors(sentences.x, sentences.y).batch(11)).at("loss");
    EXPECT_NEAR(plain, mean_by_hand(sentences.x, losses, weights), test::tolerance(DType::f32, 66, plain));
    std::vector<float> by_example;
    for (std::size_t i = 0; i < weights.size(); ++i)
      by_example.push_back(static_cast<float>(weights[i] = i % 3 == 0 ? 2 : 0.5));
    const auto weighted = Dataset::from_tensors({{sentences.x}, {sentences.y}, {Tensor::from(by_example, {11})}});
    const double with_weights = model.evaluate(weighted.batch(11)).at("loss");
    EXPECT_NEAR(with_weights, mean_by_hand(sentences.x, losses, weights), test::tolerance(DType::f32, 66, plain));
  }
}

TEST_P(MasksOn, TrainingIsThatOfOneReplica) {
  const Sentences sentences(23);
  const Dataset data = Dataset::from_tensors(sentences.x, sentences.y).batch(11);  // the last batch has one row
  const auto train = [&](int replicas) {
    Model model = tagger(test::mirrored(replicas), Activation::softmax);
    model.compile(SGD({.learning_rate = 0.5}), SparseCategoricalCrossentropy());
    const History history = model.fit(data, {.epochs = 3});
    EXPECT_LT(history.values.at("loss").back(), history.values.at("loss").front());
    return std::pair(history.values.at("loss"), test::weights_of(model));
  };
  const auto [losses, weights] = train(GetParam());
  const auto [expected_losses, expected_weights] = train(1);
  for (std::size_t epoch = 0; epoch < losses.size(); ++epoch)
    EXPECT_NEAR(losses[epoch], expected_losses[epoch], test::tolerance(DType::f32, 66, 1)) << epoch;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].size(); ++k)
      EXPECT_NEAR(weights[i][k], expected_weights[i][k], test::tolerance(DType::f32, 64, 1)) << i << ": " << k;
}

INSTANTIATE_TEST_SUITE_P(Replicas, MasksOn, testing::ValuesIn(test::replica_counts));

TEST(Masks, ABatchWithoutUnmaskedStepsHasNoLoss) {
  Model model = tagger(test::mirrored(2), Activation::softmax);
  model.compile(SGD({.learning_rate = 0.5}), SparseCategoricalCrossentropy());
  const auto before = test::weights_of(model);
  const Tensor nothing = Tensor::zeros({4, 6}, DType::i64);
  EXPECT_EQ(model.fit(Dataset::from_tensors(nothing, nothing).batch(4)).values.at("loss").at(0), 0);
  EXPECT_EQ(test::weights_of(model), before);
}

TEST(Masks, AreNotCombinedWithIgnoreClass) {
  Model model = tagger(test::mirrored(2), Activation::softmax);
  model.compile(SGD(), SparseCategoricalCrossentropy{{.ignore_class = 2}});
  const Sentences sentences(4);
  EXPECT_ERROR(Unsupported, "ignore_class is not supported for an output with a mask",
               model.evaluate(Dataset::from_tensors(sentences.x, sentences.y).batch(4)));
}

TEST(Masks, NeedATargetForEachStep) {
  Model model = tagger(test::mirrored(2), Activation::softmax);
  model.compile(SGD(), MeanSquaredError());
  const Sentences sentences(4);
  EXPECT_ERROR(InvalidArgument, "an output with a mask (2, 6) needs a target for each time step, got f32 (2, 3)",
               model.evaluate(Dataset::from_tensors(sentences.x, Tensor::zeros({4, 3})).batch(4)));
}

}  // namespace
}  // namespace lockstep
