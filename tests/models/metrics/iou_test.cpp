#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <models/metrics/values.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/models/metrics/iou.h>

namespace lockstep {
namespace {

using test::floats;
using test::keras_tolerance;
using test::value;

// Values from Keras' documentation.
TEST(IoU, IsKerasExample) {
  const Tensor y = floats({0, 0, 1, 1});
  const Tensor p = floats({0, 1, 0, 1});
  const Tensor weight = floats({0.3F, 0.3F, 0.3F, 0.1F});
  EXPECT_NEAR(value(IoU({.num_classes = 2, .target_class_ids = {0}}), y, p), 1.0 / 3, keras_tolerance);
  EXPECT_NEAR(value(IoU({.num_classes = 2, .target_class_ids = {0}}), y, p, weight), 1.0 / 3, keras_tolerance);
  EXPECT_NEAR(value(MeanIoU({.num_classes = 2}), y, p), 1.0 / 3, keras_tolerance);
  EXPECT_NEAR(value(MeanIoU({.num_classes = 2}), y, p, weight), 0.23809525, keras_tolerance);
}

TEST(BinaryIoU, IsKerasExample) {
  const Tensor y = floats({0, 1, 0, 1});
  const Tensor p = floats({0.1F, 0.2F, 0.4F, 0.7F});
  EXPECT_NEAR(value(BinaryIoU({.threshold = 0.3}), y, p), 1.0 / 3, keras_tolerance);
  EXPECT_NEAR(value(BinaryIoU({.threshold = 0.3}), y, p, floats({0.2F, 0.3F, 0.4F, 0.1F})), 0.17361112,
              keras_tolerance);
}

TEST(OneHotIoU, IsKerasExample) {
  const Tensor y = Tensor::from(std::vector<std::uint8_t>{0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0}, {4, 3});
  const Tensor p = floats({0.2F, 0.3F, 0.5F, 0.1F, 0.2F, 0.7F, 0.5F, 0.3F, 0.1F, 0.1F, 0.4F, 0.5F}, {4, 3});
  const Tensor weight = floats({0.1F, 0.2F, 0.3F, 0.4F});
  EXPECT_NEAR(value(OneHotIoU({.num_classes = 3, .target_class_ids = {0, 2}}), y, p, weight), 0.1 / 0.7 / 2,
              keras_tolerance);
  EXPECT_NEAR(value(OneHotMeanIoU({.num_classes = 3}), y, p, weight), 0.1 / 0.7 / 3, keras_tolerance);
  const Tensor classes = floats({2, 2, 0, 2});
  EXPECT_NEAR(value(OneHotMeanIoU({.num_classes = 3, .sparse_y_pred = true}), y, classes, weight), 0.1 / 0.7 / 3,
              keras_tolerance);
  const MeanIoU of_labels({.num_classes = 3, .sparse_y_pred = false});
  EXPECT_NEAR(value(of_labels, Tensor::from(std::vector<std::int64_t>{2, 0, 1, 0}, {4, 1}), p, weight), 0.1 / 0.7 / 3,
              keras_tolerance);
}

TEST(BinaryIoU, TakesThePredictionAtTheThresholdForOne) {
  EXPECT_NEAR(value(BinaryIoU({.target_class_ids = {1}}), floats({1, 1}), floats({0.5F, 0.4999F})), 0.5,
              keras_tolerance);
  EXPECT_NEAR(value(BinaryIoU({.target_class_ids = {1}, .threshold = 0.4}), floats({1}), floats({0.4F})), 1,
              keras_tolerance);
}

TEST(MeanIoU, CountsClassesThatOccur) {
  // Class 1 occurs nowhere; class 0 has 1 of 2, class 2 has 2 of 3 elements in common.
  EXPECT_NEAR(value(MeanIoU({.num_classes = 4}), floats({0, 2, 2, 0}), floats({0, 2, 2, 2})), (1.0 / 2 + 2.0 / 3) / 2,
              keras_tolerance);
  EXPECT_EQ(value(MeanIoU({.num_classes = 4}), floats({0, 1}), floats({1, 0})), 0);
}

TEST(MeanIoU, LeavesOutWhatIsIgnoredOrNoClass) {
  const Tensor y = floats({0, 1, 255, -1, 1, 1.9F});
  const Tensor p = floats({0, 0, 0, 1, 2, 1});
  EXPECT_NEAR(value(MeanIoU({.num_classes = 2}), y, p), 0.5, keras_tolerance);  // 1 of 2 each
  EXPECT_NEAR(value(MeanIoU({.num_classes = 2, .ignore_class = 1}), y, p), 1, keras_tolerance);
  EXPECT_NEAR(value(MeanIoU({.num_classes = 300, .ignore_class = 255}), y, p), (1.0 / 2 + 1.0 / 3 + 0) / 3,
              keras_tolerance);
}

TEST(MeanIoU, CountsEveryElementWithItsExamplesWeight) {
  const Tensor y = floats({0, 1, 1, 1}, {2, 2});
  const Tensor p = floats({0, 0, 1, 0}, {2, 2, 1});
  EXPECT_NEAR(value(MeanIoU({.num_classes = 2}), y, p, floats({1, 3})), (1.0 / (1 + 1 + 3) + 3.0 / (3 + 1 + 3)) / 2,
              keras_tolerance);
}

TEST(MeanIoU, OfNothingIsZero) {
  EXPECT_EQ(value(MeanIoU({.num_classes = 2}), Tensor::zeros({0}), Tensor::zeros({0})), 0);
  EXPECT_EQ(value(OneHotMeanIoU({.num_classes = 2}), Tensor::zeros({0, 2}), Tensor::zeros({0, 2})), 0);
}

TEST(IoU, HasKerasNamesAndGrows) {
  EXPECT_EQ(IoU({.num_classes = 1, .target_class_ids = {0}}).name(), "io_u");
  EXPECT_EQ(BinaryIoU().name(), "binary_io_u");
  EXPECT_EQ(MeanIoU({.num_classes = 1}).name(), "mean_io_u");
  EXPECT_EQ(OneHotIoU({.num_classes = 1, .target_class_ids = {0}}).name(), "one_hot_io_u");
  EXPECT_EQ(OneHotMeanIoU({.num_classes = 1}).name(), "one_hot_mean_io_u");
  EXPECT_EQ(BinaryIoU().direction(), Direction::up);
}

TEST(IoU, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(InvalidArgument, "IoU needs at least 1 class and at most 65536, got 0", MeanIoU({.num_classes = 0}));
  EXPECT_EQ(value(MeanIoU({.num_classes = 1 << 16}), Tensor::zeros({0}), Tensor::zeros({0})), 0);
  for (const int many : {(1 << 16) + 1, std::numeric_limits<int>::max()}) {
    const std::string message = "IoU needs at least 1 class and at most 65536, got " + std::to_string(many);
    EXPECT_ERROR(InvalidArgument, message, IoU({.num_classes = many, .target_class_ids = {0}}));
    EXPECT_ERROR(InvalidArgument, message, MeanIoU({.num_classes = many}));
    EXPECT_ERROR(InvalidArgument, message, OneHotIoU({.num_classes = many, .target_class_ids = {0}}));
    EXPECT_ERROR(InvalidArgument, message, OneHotMeanIoU({.num_classes = many}));
  }
  EXPECT_ERROR(InvalidArgument, "IoU needs a target class at least, got none", IoU({.num_classes = 2}));
  EXPECT_ERROR(InvalidArgument, "IoU: target class 2 is not one of 2 classes",
               OneHotIoU({.num_classes = 2, .target_class_ids = {0, 2}}));
  EXPECT_ERROR(InvalidArgument, "target class -1", BinaryIoU({.target_class_ids = {-1}}));
  EXPECT_ERROR(InvalidArgument, "IoU needs target classes of the shape of the predicted ones, got (3) in f32 (3)",
               MeanIoU({.num_classes = 2}).update(Tensor::zeros({3}), Tensor::zeros({3, 2})));
  EXPECT_ERROR(InvalidArgument, "got (2, 3) in f32 (2, 3) on CPU:0 and (2, 6) in f32 (2, 6)",
               MeanIoU({.num_classes = 2}).update(Tensor::zeros({2, 3}), Tensor::zeros({2, 6})));
  EXPECT_ERROR(InvalidArgument, "got (2, 2, 3) in f32 (2, 2, 3) on CPU:0 and (2, 3, 2) in f32 (2, 3, 2, 2)",
               IoU({.num_classes = 2, .target_class_ids = {0}, .sparse_y_pred = false})
                   .update(Tensor::zeros({2, 2, 3}), Tensor::zeros({2, 3, 2, 2})));
  EXPECT_ERROR(InvalidArgument, "IoU needs as many targets as predictions along the first axis",
               MeanIoU({.num_classes = 2}).update({}, Tensor::zeros({3})));
}

}  // namespace
}  // namespace lockstep
