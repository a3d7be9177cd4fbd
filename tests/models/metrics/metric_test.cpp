#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/models/metrics/metric.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Accuracy, CountsRowsWhoseLargestPredictionIsTheLabel) {
  const Tensor predictions = Tensor::from(std::vector<float>{3, 1, 2, 0, 0, 1, 5, 5, 4, -3, -1, -2}, {4, 3});
  const std::vector<std::int64_t> labels{0, 2, 1, 1};  // of the equal ones in row 2 the first counts
  for (const Shape& shape : {Shape{4}, Shape{4, 1}}) {
    EXPECT_EQ(Accuracy().total(Tensor::from(labels, shape), predictions), 3);
    EXPECT_EQ(
        Accuracy().total(Tensor::from(std::vector<std::uint8_t>(labels.begin(), labels.end()), shape), predictions), 3);
    EXPECT_EQ(
        Accuracy().total(Tensor::from(std::vector<std::int32_t>(labels.begin(), labels.end()), shape), predictions), 3);
  }
}

TEST(Accuracy, RoundsASingleOutputAtOneHalf) {
  const Tensor predictions = Tensor::from(std::vector<float>{0.1F, 0.5F, 0.51F, 0.9F, 2.0F}, {5, 1});
  const Tensor labels = Tensor::from(std::vector<float>{0, 0, 1, 0, 1}, {5, 1});
  EXPECT_EQ(Accuracy().total(labels, predictions), 4);
  EXPECT_EQ(Accuracy().total(Tensor::from(std::vector<std::uint8_t>{1, 1, 0, 1, 0}, {5}), predictions), 1);
}

TEST(Accuracy, OfNoRowsIsZeroOfZero) {
  EXPECT_EQ(Accuracy().total(Tensor::zeros({0}, DType::i64), Tensor::zeros({0, 3})), 0);
  EXPECT_EQ(Accuracy().total(Tensor::zeros({0}, DType::i64), Tensor::zeros({0, 1})), 0);
}

TEST(Accuracy, RefusesLabelsThatDoNotFit) {
  EXPECT_THAT(
      [] {
        Accuracy().total(Tensor::zeros({3}, DType::i64), Tensor::zeros({2, 4}));
      },
      ThrowsMessage<InvalidArgument>(testing::AllOf(HasSubstr("i64 (3)"), HasSubstr("f32 (2, 4)"))));
  EXPECT_THROW(Accuracy().total(Tensor(), Tensor::zeros({2, 4})), InvalidArgument);
}

TEST(Accuracy, IsNotRecorded) {
  const Tensor predictions = test::random_tensor({4, 3}, 1);
  GradientTape tape;
  tape.watch(predictions);
  Accuracy().total(Tensor::zeros({4}, DType::i64), predictions);
  EXPECT_TRUE(recording({predictions}));
  EXPECT_EQ(Accuracy().name(), "accuracy");
}

TEST(Metric, IsANameAndATotal) {
  const Metric rows("rows", [](const Tensor&, const Tensor& y_pred) { return static_cast<double>(y_pred.dim(0)); });
  EXPECT_EQ(rows.name(), "rows");
  EXPECT_EQ(rows.total(Tensor(), Tensor::zeros({7, 2})), 7);
}

}  // namespace
}  // namespace lockstep
