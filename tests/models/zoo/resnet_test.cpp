#include <numeric>

#include <models/zoo/zoo_checks.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/models/zoo/resnet.h>

namespace lockstep::test {
namespace {

TEST(ResNet50, HasKerasLayersShapesAndParameters) {
  const Model model = zoo::resnet50();
  EXPECT_EQ(model.count_params(), 25636712);
  EXPECT_EQ(trainable_params(model), 25583592);
  EXPECT_EQ(model.network().layers().size(), 176U) << "Keras counts the input, too";
  EXPECT_EQ(shape_after(model, "conv1_conv"), (Shape{112, 112, 64}));
  EXPECT_EQ(shape_after(model, "pool1_pool"), (Shape{56, 56, 64}));
  EXPECT_EQ(shape_after(model, "conv2_block1_0_bn"), (Shape{56, 56, 256}));
  EXPECT_EQ(shape_after(model, "conv2_block3_out"), (Shape{56, 56, 256}));
  EXPECT_EQ(shape_after(model, "conv3_block4_out"), (Shape{28, 28, 512}));
  EXPECT_EQ(shape_after(model, "conv4_block6_out"), (Shape{14, 14, 1024}));
  EXPECT_EQ(shape_after(model, "conv5_block3_3_conv"), (Shape{7, 7, 2048}));
  EXPECT_EQ(shape_after(model, "conv5_block3_out"), (Shape{7, 7, 2048}));
  EXPECT_EQ(shape_after(model, "avg_pool"), (Shape{2048}));
  EXPECT_EQ(shape_after(model, "predictions"), (Shape{1000}));
}

TEST(ResNet50, GivesProbabilitiesOfSmallImages) {
  const Model model = zoo::resnet50({.input_shape = {32, 32, 3}, .classes = 5});
  EXPECT_EQ(model.count_params(), 25636712 - 2049 * 995);
  const Tensor probabilities = model(random_tensor({2, 32, 32, 3}, 1));
  ASSERT_EQ(probabilities.shape(), (Shape{2, 5}));
  const std::vector<double> values = probabilities.to_vector<double>();
  for (const std::size_t row : {0U, 1U})
    EXPECT_NEAR(std::accumulate(values.begin() + 5 * row, values.begin() + 5 * (row + 1), 0.0), 1,
                tolerance(DType::f32, 5, 1));
}

TEST(ResNet50, LearnsOnTwoReplicas) {
  const MirroredStrategy strategy = mirrored(2);
  Model model = strategy.scope([] {
    return zoo::resnet50({.input_shape = {32, 32, 3}, .classes = 2, .classifier_activation = Activation::linear});
  });
  // Fifty normalizations over four rows each: with longer steps, the processor's rounding would decide the result.
  expect_learns(model, 8, 1e-6);
}

TEST(ResNet50, RefusesImagesThatKerasRefuses) {
  EXPECT_ERROR(InvalidArgument, "resnet50 takes images (height, width, channels) of at least 32 x 32",
               zoo::resnet50({.input_shape = {32, 31, 3}}));
  EXPECT_ERROR(InvalidArgument, "resnet50 takes images", zoo::resnet50({.input_shape = {224, 224}}));
}

}  // namespace
}  // namespace lockstep::test
