#include <models/zoo/zoo_checks.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/models/zoo/xception.h>

namespace lockstep::test {
namespace {

TEST(Xception, HasKerasLayersShapesAndParameters) {
  const Model model = zoo::xception();
  EXPECT_EQ(model.count_params(), 22910480);
  EXPECT_EQ(trainable_params(model), 22855952);
  EXPECT_EQ(model.network().layers().size(), 133U) << "Keras counts the input, too";
  EXPECT_EQ(shape_after(model, "block1_conv1"), (Shape{149, 149, 32}));
  EXPECT_EQ(shape_after(model, "block1_conv2_act"), (Shape{147, 147, 64}));
  EXPECT_EQ(shape_after(model, "block2_pool"), (Shape{74, 74, 128}));
  EXPECT_EQ(shape_after(model, "block3_pool"), (Shape{37, 37, 256}));
  EXPECT_EQ(shape_after(model, "block4_pool"), (Shape{19, 19, 728}));
  EXPECT_EQ(shape_after(model, "block12_sepconv3_bn"), (Shape{19, 19, 728}));
  EXPECT_EQ(shape_after(model, "block13_pool"), (Shape{10, 10, 1024}));
  EXPECT_EQ(shape_after(model, "block14_sepconv2_act"), (Shape{10, 10, 2048}));
  EXPECT_EQ(shape_after(model, "predictions"), (Shape{1000}));
  // Layers without a name in Keras' source are numbered.
  EXPECT_EQ(shape_after(model, "conv2d"), (Shape{74, 74, 128}));
  EXPECT_EQ(shape_after(model, "batch_normalization_3"), (Shape{10, 10, 1024}));
  EXPECT_EQ(shape_after(model, "add_11"), (Shape{10, 10, 1024}));
}

TEST(Xception, LearnsOnTwoReplicas) {
  const MirroredStrategy strategy = mirrored(2);
  Model model = strategy.scope([] {
    return zoo::xception({.input_shape = {71, 71, 3}, .classes = 2, .classifier_activation = Activation::linear});
  });
  EXPECT_EQ(model.count_params(), 22910480 - 2049 * 998);
  expect_learns(model, 4);
}

TEST(Xception, RefusesImagesThatKerasRefuses) {
  EXPECT_ERROR(InvalidArgument, "xception takes images (height, width, channels) of at least 71 x 71",
               zoo::xception({.input_shape = {70, 71, 3}}));
}

}  // namespace
}  // namespace lockstep::test
