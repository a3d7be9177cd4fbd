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

}  // namespace
}  // namespace lockstep
