#include <models/zoo/zoo_checks.h>
#include <support/expect_error.h>

#include <lockstep/models/zoo/unet.h>

namespace lockstep::test {
namespace {

TEST(UNet, HasTheShapesAndParameters) {
  const Model model = zoo::unet({32, 48, 3}, 2);
  EXPECT_EQ(model.network().output_shape(), (Shape{32, 48, 2}));
  EXPECT_EQ(trainable_params(model), 31037698) << "the number of the widely used PyTorch program of this network";
  EXPECT_EQ(shape_after(model, "max_pooling2d_3"), (Shape{2, 3, 512}));
  EXPECT_EQ(shape_after(model, "conv2d_9"), (Shape{2, 3, 1024}));
  EXPECT_EQ(shape_after(model, "concatenate"), (Shape{4, 6, 1024}));
  EXPECT_EQ(shape_after(model, "concatenate_3"), (Shape{32, 48, 128}));

  // Two levels below the images: 3 x 3 convolutions from the first number of channels to the second, each with a scale
  // and a shift, 2 x 2 transposed convolutions, and the last layer.
  std::int64_t expected = 4 * 3 + 3;
  for (const auto& [from, to] :
       {std::pair{1, 4}, {4, 4}, {4, 8}, {8, 8}, {8, 16}, {16, 16}, {16, 8}, {8, 8}, {8, 4}, {4, 4}})
    expected += 9 * from * to + 2 * to;
  for (const auto& [from, to] : {std::pair{16, 8}, {8, 4}}) expected += 4 * from * to + to;
  EXPECT_EQ(trainable_params(zoo::unet({8, 8, 1}, 3, {.filters = 4, .levels = 2})), expected);
}

TEST(UNet, TakesImagesOfAnySizeThatFits) {
  const Model model = zoo::unet({-1, -1, 1}, 3, {.filters = 2, .levels = 2});
  EXPECT_EQ(model(random_tensor({2, 8, 12, 1}, 1)).shape(), (Shape{2, 8, 12, 3}));
  EXPECT_EQ(model(random_tensor({1, 4, 4, 1}, 1)).shape(), (Shape{1, 4, 4, 3}));
}

TEST(UNet, TrainsOnTwoReplicasAsOnOne) {
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < 4 * 8 * 8; ++i) classes.push_back(i * i / 5 % 3);
  expect_same_step_on_two_replicas(
      [] {
        return zoo::unet({8, 8, 2}, 3, {.filters = 4, .levels = 2, .synchronized = true});
      },
      random_tensor({4, 8, 8, 2}, 1), Tensor::from(classes, {4, 8, 8}));
}

TEST(UNet, RefusesSizesThatDoNotFit) {
  EXPECT_ERROR(InvalidArgument,
               "U-Net of 4 levels takes images (height, width, channels) whose sides are multiples of 16, got",
               zoo::unet({32, 40, 1}, 2));
  EXPECT_ERROR(InvalidArgument, "U-Net of 4 levels takes images", zoo::unet({32, 32}, 2));
  EXPECT_ERROR(InvalidArgument, "U-Net takes 1 to 16 levels and at least one filter, got 0 and 64",
               zoo::unet({32, 32, 1}, 2, {.levels = 0}));
}

}  // namespace
}  // namespace lockstep::test
