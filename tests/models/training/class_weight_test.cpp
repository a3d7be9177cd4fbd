#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/models/training/class_weight.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

const ClassWeight weights{{0, 0.5}, {2, 4}};

std::vector<double> weights_of(const Tensor& y) {
  return with_class_weight({{Tensor::zeros({4, 1})}, {y}}, weights).sample_weight().to_vector<double>();
}

TEST(ClassWeight, IsThatOfTheLabelOrOne) {
  const std::vector<std::uint8_t> labels{2, 0, 1, 2};
  EXPECT_THAT(weights_of(Tensor::from(labels, {4})), ElementsAre(4, 0.5, 1, 4));
  EXPECT_THAT(weights_of(Tensor::from(labels, {4, 1})), ElementsAre(4, 0.5, 1, 4));
  EXPECT_THAT(weights_of(Tensor::from(std::vector<float>{2, 0, 1, 2}, {4})), ElementsAre(4, 0.5, 1, 4));
}

TEST(ClassWeight, IsThatOfTheOneHotClass) {
  const std::vector<std::uint8_t> rows{0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  EXPECT_THAT(weights_of(Tensor::from(rows, {4, 3})), ElementsAre(4, 0.5, 1, 4));
}

TEST(ClassWeight, OfNoRowsAreNone) { EXPECT_THAT(weights_of(Tensor::zeros({0}, DType::i64)), ElementsAre()); }

TEST(ClassWeight, LeavesABatchAloneWhenThereIsNone) {
  const Batch batch{{Tensor::zeros({2, 1})}, {Tensor::zeros({2})}, {Tensor::zeros({2})}};
  EXPECT_EQ(with_class_weight(batch, {}).sample_weight().id(), batch.sample_weight().id());
}

TEST(ClassWeight, RefusesSampleWeightsBesideItAndTargetsWithoutClasses) {
  const Batch weighted{{Tensor::zeros({2, 1})}, {Tensor::zeros({2})}, {Tensor::zeros({2})}};
  EXPECT_ERROR(InvalidArgument, "at the same time", with_class_weight(weighted, weights));
  EXPECT_ERROR(InvalidArgument, "got f32 (2, 3, 4)", weights_of(Tensor::zeros({2, 3, 4})));
  EXPECT_THROW(weights_of(Tensor()), InvalidArgument);
}

// scikit-learn: compute_class_weight("balanced", classes=[-1, 0, 7], y=[0, 0, -1, 7, 7, 7]) = [2, 1, 2 / 3].
TEST(ClassWeight, IsBalancedByTheNumberOfLabelsOfEachClass) {
  const std::vector<std::int64_t> labels{0, 0, -1, 7, 7, 7};
  const ClassWeight expected{{-1, 2}, {0, 1}, {7, 2.0 / 3}};
  EXPECT_EQ(balanced_class_weight(Tensor::from(labels, {6})), expected);
  EXPECT_EQ(balanced_class_weight(Tensor::from(labels, {6, 1})), expected);
  EXPECT_EQ(balanced_class_weight(Tensor::from(std::vector<std::uint8_t>{3, 3}, {2})), (ClassWeight{{3, 1}}));
}

TEST(ClassWeight, IsNotBalancedWithoutLabels) {
  EXPECT_ERROR(InvalidArgument, "got f32 (2)", balanced_class_weight(Tensor::zeros({2})));
  EXPECT_ERROR(InvalidArgument, "got i32 (2, 3)", balanced_class_weight(Tensor::zeros({2, 3}, DType::i32)));
  EXPECT_ERROR(InvalidArgument, "got i64 (0)", balanced_class_weight(Tensor::zeros({0}, DType::i64)));
  EXPECT_THROW(balanced_class_weight(Tensor()), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
