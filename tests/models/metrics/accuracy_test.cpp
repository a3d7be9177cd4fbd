#include <cmath>
#include <limits>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/metrics/values.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/models/metrics/accuracy.h>

namespace lockstep {
namespace {

using test::floats;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const Tensor scores = floats({3, 1, 2, 0, 0, 1, 5, 5, 4, -3, -1, -2}, {4, 3});
const std::vector<std::int64_t> labels{0, 2, 1, 1};  // row 2 has equal maxima, of which the first counts
const Tensor one_hot = floats({1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0}, {4, 3});

TEST(Accuracy, CountsRowsWhoseLargestPredictionIsTheLabel) {
  const std::vector<std::uint8_t> bytes(labels.begin(), labels.end());
  const std::vector<std::int32_t> ints(labels.begin(), labels.end());
  const std::vector<float> whole(labels.begin(), labels.end());
  for (const Shape& shape : {Shape{4}, Shape{4, 1}})
    for (const Tensor& y : {Tensor::from(labels, shape), Tensor::from(bytes, shape), Tensor::from(ints, shape),
                            Tensor::from(whole, shape)}) {
      EXPECT_THAT(Accuracy().update(y, scores), ElementsAre(3, 4));
      EXPECT_THAT(SparseCategoricalAccuracy().update(y, scores), ElementsAre(3, 4));
      EXPECT_THAT(SparseTopKCategoricalAccuracy(1).update(y, scores), ElementsAre(4, 4));
    }
}

TEST(Accuracy, TakesOneHotTargets) {
  EXPECT_THAT(Accuracy().update(one_hot, scores), ElementsAre(3, 4));
  EXPECT_THAT(CategoricalAccuracy().update(one_hot, scores), ElementsAre(3, 4));
  EXPECT_THAT(CategoricalAccuracy().update(Tensor::from(std::vector<std::uint8_t>{0, 1}, {1, 2}),
                                           floats({0.2F, 0.8F}, {1, 2}), floats({0.3F}, {1})),
              ElementsAre(testing::DoubleEq(0.3F), testing::DoubleEq(0.3F)));
}

TEST(Accuracy, RoundsASingleOutputAtOneHalf) {
  const Tensor predictions = floats({0.1F, 0.5F, 0.51F, 0.9F, 2.0F}, {5, 1});
  EXPECT_THAT(Accuracy().update(floats({0, 0, 1, 0, 1}, {5, 1}), predictions), ElementsAre(4, 5));
  EXPECT_THAT(Accuracy().update(Tensor::from(std::vector<std::uint8_t>{1, 1, 0, 1, 0}, {5}), predictions),
              ElementsAre(1, 5));
}

TEST(Accuracy, RefusesTargetsOfAnotherShape) {
  const auto refuses = [](const Metric& metric, const Shape& y_true, const Shape& y_pred) {
    EXPECT_ERROR(InvalidArgument, fmt::format("got f32 {} on CPU:0 and f32 {}", y_true, y_pred),
                 metric.update(Tensor::zeros(y_true), Tensor::zeros(y_pred)));
  };
  refuses(BinaryAccuracy(), {2, 3, 4}, {2, 4, 3});
  refuses(BinaryAccuracy(), {2, 12}, {2, 3, 4});
  refuses(SparseCategoricalAccuracy(), {2, 3, 4}, {2, 4, 3, 5});
  refuses(SparseTopKCategoricalAccuracy(), {2, 12}, {2, 4, 3, 5});
  refuses(Accuracy(), {2, 12}, {2, 4, 3, 5});
  EXPECT_THAT(BinaryAccuracy().update(Tensor::zeros({2, 3}), Tensor::zeros({2, 3, 1})), ElementsAre(2, 2));
  EXPECT_THAT(SparseCategoricalAccuracy().update(Tensor::zeros({2, 3, 1}), Tensor::zeros({2, 3, 5})),
              ElementsAre(2, 2));
}

// Values from Keras' documentation.
TEST(BinaryAccuracy, IsKerasExample) {
  const Tensor y = floats({1, 1, 0, 0}, {4, 1});
  const Tensor predictions = floats({0.98F, 1, 0, 0.6F}, {4, 1});
  const BinaryAccuracy metric;
  EXPECT_EQ(metric.result(metric.update(y, predictions)), 0.75);
  EXPECT_EQ(metric.result(metric.update(y, predictions, floats({1, 0, 0, 1}, {4}))), 0.5);
}

TEST(BinaryAccuracy, HasAThresholdAndCountsAnExamplesLabelsByShare) {
  const Tensor y = floats({1, 0, 1, 1}, {2, 2});
  const Tensor predictions = floats({0.3F, 0.3F, 0.9F, 0.2F}, {2, 2});
  EXPECT_THAT(BinaryAccuracy(0.25).update(y, predictions), ElementsAre(1, 2));
  EXPECT_THAT(BinaryAccuracy(0.1).update(y, predictions), ElementsAre(1.5, 2));
  EXPECT_THAT(BinaryAccuracy(0.1).update(y, predictions, floats({1, 3}, {2})), ElementsAre(3.5, 4));
}

TEST(BinaryAccuracy, ComparesItsThresholdAsF32) {
  for (const double threshold : {0.1, 0.7})  // f32 rounds the first up and the second down
    EXPECT_THAT(BinaryAccuracy(threshold).update(Tensor::zeros({3}), Tensor::full({3}, threshold)), ElementsAre(3, 3));
}

TEST(SparseCategoricalAccuracy, CountsTheStepsOfASequenceByShare) {
  const Tensor y = Tensor::from(std::vector<std::int64_t>{0, 2, 1, 1}, {2, 2});
  EXPECT_THAT(SparseCategoricalAccuracy().update(y, floats(scores.to_vector<float>(), {2, 2, 3})), ElementsAre(1.5, 2));
}

TEST(TopK, CountsLabelsThatFewerThanKPredictionsExceed) {
  const Tensor y = Tensor::from(std::vector<std::int64_t>{1, 0, 1, 0}, {4});
  EXPECT_THAT(SparseTopKCategoricalAccuracy(1).update(y, scores), ElementsAre(1, 4));  // row 2: equal to the largest
  EXPECT_THAT(SparseTopKCategoricalAccuracy(2).update(y, scores), ElementsAre(2, 4));  // row 1: one exceeds 0
  EXPECT_THAT(SparseTopKCategoricalAccuracy(3).update(y, scores), ElementsAre(4, 4));
  EXPECT_THAT(SparseTopKCategoricalAccuracy().update(y, scores), ElementsAre(4, 4));
  const Tensor hot = floats({0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0}, {4, 3});
  EXPECT_THAT(TopKCategoricalAccuracy(2).update(hot, scores), ElementsAre(2, 4));
}

// Values from Keras' documentation.
TEST(TopK, IsKerasExample) {
  const Tensor predictions = floats({0.1F, 0.9F, 0.8F, 0.05F, 0.95F, 0}, {2, 3});
  const Tensor y = Tensor::from(std::vector<std::int32_t>{2, 1}, {2});
  const SparseTopKCategoricalAccuracy metric(1);
  EXPECT_EQ(metric.result(metric.update(y, predictions)), 0.5);
  EXPECT_FLOAT_EQ(static_cast<float>(metric.result(metric.update(y, predictions, floats({0.7F, 0.3F}, {2})))), 0.3F);
}

TEST(TopK, NeverFindsWhatIsNotFinite) {
  const float nan = std::nanf("");
  const Tensor y = Tensor::from(std::vector<std::int64_t>{0, 0}, {2});
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(SparseTopKCategoricalAccuracy(2).update(y, floats({nan, 1, infinity, 0}, {2, 2})), ElementsAre(0, 2));
}

TEST(TopK, RefusesAKAndALabelThatMeanNothing) {
  EXPECT_THROW(SparseTopKCategoricalAccuracy(0), InvalidArgument);
  EXPECT_THROW(TopKCategoricalAccuracy(-1), InvalidArgument);
  EXPECT_ERROR(InvalidArgument, "label 3 is not one of 3 classes",
               SparseTopKCategoricalAccuracy().update(Tensor::full({4}, 3, DType::i64), scores));
}

TEST(Accuracy, RefusesAThresholdThatFilesCannotHold) {
  EXPECT_ERROR(InvalidArgument, "BinaryAccuracy: threshold must be finite, got inf",
               (void)BinaryAccuracy(std::numeric_limits<double>::infinity()));
}

TEST(Accuracy, OfNoRowsIsZeroOfZero) {
  for (const Metric& metric :
       {Metric(Accuracy()), Metric(SparseCategoricalAccuracy()), Metric(SparseTopKCategoricalAccuracy())})
    EXPECT_THAT(metric.update(Tensor::zeros({0}, DType::i64), Tensor::zeros({0, 3})), ElementsAre(0, 0));
  EXPECT_THAT(Accuracy().update(Tensor::zeros({0, 1}, DType::i64), Tensor::zeros({0, 3})), ElementsAre(0, 0));
  EXPECT_THAT(Accuracy().update(Tensor::zeros({0}, DType::i64), Tensor::zeros({0, 1})), ElementsAre(0, 0));
  EXPECT_THAT(CategoricalAccuracy().update(Tensor::zeros({0, 3}), Tensor::zeros({0, 3})), ElementsAre(0, 0));
}

TEST(Accuracy, RefusesLabelsThatDoNotFit) {
  EXPECT_THAT(
      [] {
        Accuracy().update(Tensor::zeros({3}, DType::i64), Tensor::zeros({2, 4}));
      },
      ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("i64 (3)"), HasSubstr("f32 (2, 4)"))));
  EXPECT_THROW(Accuracy().update(Tensor(), Tensor::zeros({2, 4})), InvalidArgument);
  EXPECT_THROW(BinaryAccuracy().update(Tensor::zeros({2}), Tensor::zeros({2, 4})), InvalidArgument);
  EXPECT_THROW(CategoricalAccuracy().update(Tensor::zeros({2}), Tensor::zeros({2, 4})), InvalidArgument);
  EXPECT_THROW(SparseCategoricalAccuracy().update(one_hot, scores), InvalidArgument);
}

TEST(Accuracy, HasKerasNamesAndGrows) {
  EXPECT_EQ(Accuracy().name(), "accuracy");
  EXPECT_EQ(BinaryAccuracy().name(), "binary_accuracy");
  EXPECT_EQ(CategoricalAccuracy().name(), "categorical_accuracy");
  EXPECT_EQ(SparseCategoricalAccuracy().name(), "sparse_categorical_accuracy");
  EXPECT_EQ(TopKCategoricalAccuracy().name(), "top_k_categorical_accuracy");
  EXPECT_EQ(SparseTopKCategoricalAccuracy().name(), "sparse_top_k_categorical_accuracy");
  EXPECT_EQ(Accuracy().direction(), Direction::up);
}

}  // namespace
}  // namespace lockstep
