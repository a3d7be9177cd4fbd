#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/tolerance.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/metrics/regression.h>

// Training on outputs with masks, whose losses and means count the time steps that are not masked.

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

Model tagger(const Strategy& strategy, Activation activation, std::int64_t length = 6) {
  const auto inside = strategy.scope();
  const Symbol ids = Input({length});
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

/// Expects training to give the losses and weights of one replica.
void expect_training_of_one_replica(int replicas, const Dataset& data, std::int64_t length) {
  const auto train = [&](int on) {
    Model model = tagger(test::mirrored(on), Activation::softmax, length);
    model.compile(SGD({.learning_rate = 0.5}), SparseCategoricalCrossentropy());
    const History history = model.fit(data, {.epochs = 3});
    EXPECT_LT(history.values.at("loss").back(), history.values.at("loss").front());
    return std::pair(history.values.at("loss"), test::weights_of(model));
  };
  const auto [losses, weights] = train(replicas);
  const auto [expected_losses, expected_weights] = train(1);
  for (std::size_t epoch = 0; epoch < losses.size(); ++epoch)
    EXPECT_NEAR(losses[epoch], expected_losses[epoch], test::tolerance(DType::f32, 66, 1)) << epoch;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].size(); ++k)
      EXPECT_NEAR(weights[i][k], expected_weights[i][k], test::tolerance(DType::f32, 64, 1)) << i << ": " << k;
}

TEST_P(MasksOn, TrainingIsThatOfOneReplica) {
  const Sentences sentences(23);
  const Dataset data = Dataset::from_tensors(sentences.x, sentences.y).batch(11);  // the last batch has one row
  expect_training_of_one_replica(GetParam(), data, 6);
}

// Each batch is as long as its longest sentence, from 2 to 6 words; the last one has one row.
TEST_P(MasksOn, TrainingOnBatchesOfDifferentLengthsIsThatOfOneReplica) {
  const Sentences sentences(21);
  const auto without_padding = [](const Example& sentence) {
    const std::vector<std::int64_t> ids = sentence.x().to_vector<std::int64_t>();
    const std::int64_t words = std::ranges::find(ids, 0) - ids.begin();
    return Example{{slice(sentence.x(), 0, 0, words)}, {slice(sentence.y(), 0, 0, words)}};
  };
  const Dataset data = Dataset::from_tensors(sentences.x, sentences.y).map(without_padding);
  expect_training_of_one_replica(GetParam(), data.take(20).padded_batch(2).concatenate(data.skip(20).batch(1)), -1);
}

/// Whether the largest of each step's predictions is that of its label, 1 or 0.
Tensor correct(const Tensor& labels, const Tensor& y_pred) {
  const std::vector<float> predictions = y_pred.to_vector<float>();
  std::vector<float> result;
  for (std::size_t i = 0; i < predictions.size() / 3; ++i) {
    const auto* const first = predictions.data() + 3 * i;
    result.push_back(std::max_element(first, first + 3) - first == labels.data<std::int64_t>()[i] ? 1.0F : 0.0F);
  }
  return Tensor::from(result, {static_cast<std::int64_t>(result.size())});
}

TEST_P(MasksOn, MeanMetricsLeaveOutMaskedSteps) {
  const Sentences sentences(23);
  std::vector<double> weights(23, 1);
  std::vector<double> expected_weights;
  double weight_per_step = 0;
  double steps = 0;
  std::vector<float> by_example;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = i % 3 == 0 ? 2 : 0.5;
    by_example.push_back(static_cast<float>(weight));
    expected_weights.push_back(weight);
    weight_per_step += weight * static_cast<double>(i % 6 + 1);
    steps += static_cast<double>(i % 6 + 1);
  }
  Model model = tagger(test::mirrored(GetParam()), Activation::softmax);
  const std::vector<Metric> metrics{Accuracy(), MeanMetricWrapper(SparseCategoricalCrossentropy())};
  model.compile(SGD(), {{.loss = SparseCategoricalCrossentropy(), .metrics = metrics, .weighted_metrics = metrics}});
  const auto data = Dataset::from_tensors({{sentences.x}, {sentences.y}, {Tensor::from(by_example, {23})}});
  const Logs logs = model.evaluate(data.batch(11));  // the last batch has one row
  const Tensor y_pred = reshape(model(sentences.x), {138, 3});
  const Tensor right = correct(sentences.y, y_pred);
  const Tensor losses = SparseCategoricalCrossentropy()(reshape(sentences.y, {138}), y_pred);
  const double tolerance = test::tolerance(DType::f32, 138, 1);
  const auto weighted = [&](const Tensor& x) {
    return mean_by_hand(sentences.x, x, expected_weights) * steps / weight_per_step;
  };
  EXPECT_NEAR(logs.at("accuracy"), mean_by_hand(sentences.x, right, weights), tolerance);
  EXPECT_NEAR(logs.at("weighted_accuracy"), weighted(right), tolerance);
  EXPECT_NEAR(logs.at("sparse_categorical_crossentropy"), mean_by_hand(sentences.x, losses, weights), tolerance);
  EXPECT_NEAR(logs.at("weighted_sparse_categorical_crossentropy"), weighted(losses), tolerance);
}

/// The mean squared error of each time step, for targets (n, time, 3).
Tensor squares_of_steps(const Tensor& y_true, const Tensor& y_pred) {
  EXPECT_EQ(y_pred.rank(), 3) << "the whole output, as in Keras";
  return mean(square(y_pred - y_true), {2});
}

TEST_P(MasksOn, ACustomLossGivesOneValueForEachStep) {
  const Sentences sentences(11);
  const Dataset data = Dataset::from_tensors(sentences.x, test::random_tensor({11, 6, 3}, 4)).batch(11);
  const MeanMetricWrapper metric("of_steps", [](const Tensor& y_true, const Tensor& y_pred) {
    return squares_of_steps(y_true, y_pred).to_vector<double>();
  });
  const auto train = [&](const Loss& loss) {
    Model model = tagger(test::mirrored(GetParam()), Activation::linear);
    model.compile(SGD({.learning_rate = 0.5}), loss, {metric, MeanMetricWrapper(MeanSquaredError())});
    const History history = model.fit(data);
    EXPECT_NEAR(history.values.at("of_steps").at(0), history.values.at("loss").at(0), 1e-6);
    EXPECT_NEAR(history.values.at("mean_squared_error").at(0), history.values.at("loss").at(0), 1e-6);
    return test::weights_of(model);
  };
  const auto weights = train(Loss("own", squares_of_steps));
  const auto expected = train(MeanSquaredError());
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].size(); ++k)
      EXPECT_NEAR(weights[i][k], expected[i][k], test::tolerance(DType::f32, 64, 1)) << i << ": " << k;
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

TEST(Masks, StatisticsOfReplicasWeighTheirRows) {
  Model model = test::mirrored(2).scope([] {
    const Symbol x = Input({3, 1});
    return Model(x, Dense({.units = 1})(BatchNormalization({.momentum = 0.5})(Masking()(x))));
  });
  model.compile(SGD(), MeanSquaredError());
  const Tensor x = Tensor::from(std::vector<float>{1, 3, 0, 6, 0, 0, 0, 2, 4}, {3, 3, 1});
  model.fit(Dataset::from_tensors(x, Tensor::zeros({3, 3, 1})).batch(3));
  // One replica has the steps 1, 3 and 6 of two rows, the other one 2 and 4.
  const double mean = (2 * (10.0 / 3) + 3) / 3;
  const double variance = (2 * (46.0 / 3 - 100.0 / 9) + 1) / 3;
  EXPECT_NEAR(model.variables()[2].value().item<float>(), mean / 2, 1e-5);
  EXPECT_NEAR(model.variables()[3].value().item<float>(), (1 + variance) / 2, 1e-5);
}

TEST_P(MasksOn, TheLossLeavesOutAnIgnoredClass) {
  const Sentences sentences(11);
  for (const int ignored : {0, 2}) {
    Model model = tagger(test::mirrored(GetParam()), Activation::softmax);
    model.compile(SGD({.learning_rate = 0.5}), SparseCategoricalCrossentropy{{.ignore_class = ignored}});
    const Tensor losses =
        SparseCategoricalCrossentropy()(reshape(sentences.y, {66}), reshape(model(sentences.x), {66, 3}));
    // Steps of the class are masked, too.
    std::vector<std::int64_t> words;
    for (std::int64_t i = 0; i < 66; ++i)
      words.push_back(sentences.y.data<std::int64_t>()[i] == ignored ? 0 : sentences.x.data<std::int64_t>()[i]);
    const std::vector<double> weights(11, 1);
    const double expected = mean_by_hand(Tensor::from(words, {11, 6}), losses, weights);
    const Dataset data = Dataset::from_tensors(sentences.x, sentences.y).batch(11);
    EXPECT_NEAR(model.evaluate(data).at("loss"), expected, test::tolerance(DType::f32, 66, expected)) << ignored;
    EXPECT_NEAR(model.fit(data).values.at("loss").at(0), expected, test::tolerance(DType::f32, 66, expected));
    EXPECT_LT(model.evaluate(data).at("loss"), expected) << "it was trained on the other steps";
  }
}

TEST_P(MasksOn, SynchronizedStatisticsAreThoseOfAllUnmaskedSteps) {
  const Tensor x = Tensor::from(std::vector<float>{1, 3, 0, 6, 0, 0, 0, 2, 4, 0, 0, 0, 5, 5, 1}, {5, 3, 1});
  const Tensor y = test::random_tensor({5, 3, 1}, 4);
  const auto train = [&](int replicas, std::int64_t rows) {
    Model model = test::mirrored(replicas).scope([] {
      const Symbol in = Input({3, 1});
      const BatchNormalization norm({.momentum = 0.5, .synchronized = true});
      return Model(in, Dense({.units = 1})(norm(Masking()(in))), {.seed = 2});
    });
    model.compile(SGD({.learning_rate = 0.5}), MeanSquaredError());
    model.fit(Dataset::from_tensors(x, y).batch(rows), {.epochs = 2});
    return test::weights_of(model);
  };
  for (const std::int64_t rows : {3, 4}) {  // the last batch, of 2 rows or 1, leaves replicas without rows
    const auto weights = train(GetParam(), rows);
    const auto expected = train(1, rows);
    for (std::size_t i = 0; i < weights.size(); ++i)
      for (std::size_t k = 0; k < weights[i].size(); ++k)
        EXPECT_NEAR(weights[i][k], expected[i][k], test::tolerance(DType::f32, 64, 1)) << i << ": " << k;
  }
}

TEST(Masks, OfOutputsNeedOneValueForEachStep) {
  const Sentences sentences(4);
  const Dataset data = Dataset::from_tensors(sentences.x, test::random_tensor({4, 6, 3}, 4)).batch(4);
  const auto evaluate = [&](const Loss& loss, const Metric& metric) {
    Model model = tagger(test::mirrored(2), Activation::linear);
    model.compile(SGD(), loss, {metric});
    return model.evaluate(data);
  };
  const Loss by_example("own", [](const Tensor& y_true, const Tensor& y_pred) {
    return mean(square(y_pred - y_true), {1, 2});
  });
  EXPECT_ERROR(InvalidArgument,
               "own must give one value for each time step (2, 6) of an output with a mask, it gave f32 (2)",
               evaluate(by_example, RootMeanSquaredError()));
  EXPECT_ERROR(InvalidArgument, "a mean over 12 examples or masked time steps got 2 values",
               evaluate(MeanSquaredError(), MeanMetricWrapper(by_example)));
  EXPECT_ERROR(Unsupported, "cosine_similarity: for an output with a mask the axis must be -1, got 1",
               evaluate(CosineSimilarity(1), RootMeanSquaredError()));
  EXPECT_ERROR(Unsupported, "cosine_similarity: for an output with a mask the axis must be -1, got 1",
               evaluate(MeanSquaredError(), CosineSimilarityMetric(1)));
}

TEST(Masks, AreNotUsedByMetricsThatAreNoMeans) {
  const Tensor y_true = test::random_tensor({2, 3, 1}, 1);
  const Tensor y_pred = test::random_tensor({2, 3, 1}, 2);
  const Tensor mask = not_equal(Tensor::from(std::vector<float>{1, 0, 1, 0, 0, 1}, {2, 3}), 0);
  EXPECT_EQ(RootMeanSquaredError().update(y_true, y_pred, {}, mask), RootMeanSquaredError().update(y_true, y_pred));
  EXPECT_EQ(Sum().update(y_true, y_pred, {}, mask), Sum().update(y_true, y_pred));
  EXPECT_NE(Mean().update(y_true, y_pred, {}, mask), Mean().update(y_true, y_pred));
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
