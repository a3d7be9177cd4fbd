#include <models/zoo/zoo_checks.h>
#include <support/expect_error.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/zoo/vit.h>

namespace lockstep::test {
namespace {

constexpr zoo::VitOptions small_vit{.patch_size = 4, .layers = 2, .width = 12, .heads = 3};

TEST(Vit, HasTheShapesAndParameters) {
  const Model model = zoo::vit({224, 224, 3}, 1000);
  EXPECT_EQ(model.network().output_shape(), Shape{1000});
  EXPECT_EQ(shape_after(model, "patch_embedding"), (Shape{14, 14, 384}));
  // 22,050,664 parameters of ViT-S/16 with a class token and its position.
  EXPECT_EQ(model.count_params(), 22050664 - 2 * 384);
  EXPECT_EQ(zoo::vit({8, 12, 2}, 5, small_vit).count_params(),
            32 * 12 + 6 * 12 + 2 * (12 * 144 + 13 * 12) + 3 * 12 + 13 * 5);
}

TEST(Vit, PredictsFromPatchesAndTheirPlaces) {
  const Model model = zoo::vit({8, 8, 1}, 3, small_vit);
  const Tensor images = random_tensor({2, 8, 8, 1}, 1);
  const std::vector<Tensor> halves = split(images, 2, 1);
  const std::vector<double> logits = model(images).to_vector<double>();
  const std::vector<double> swapped = model(concatenate(std::vector{halves[1], halves[0]}, 1)).to_vector<double>();
  ASSERT_EQ(logits.size(), 6U);
  for (const std::size_t row : {0U, 3U}) EXPECT_GT(std::abs(logits[row] - swapped[row]), 1e-4);
}

TEST(Vit, TrainsOnTwoReplicasAsOnOne) {
  expect_same_step_on_two_replicas(
      [] {
        return zoo::vit({8, 8, 2}, 3, small_vit);
      },
      random_tensor({4, 8, 8, 2}, 1), Tensor::from(std::vector<std::int64_t>{0, 2, 1, 2}, {4}));
}

TEST(Vit, RefusesSizesThatDoNotFit) {
  EXPECT_ERROR(InvalidArgument,
               "ViT takes images (height, width, channels) whose sides are multiples of its patches' 16, got",
               zoo::vit({28, 32, 1}, 10));
  EXPECT_ERROR(InvalidArgument, "ViT takes images", zoo::vit({32, 32}, 10));
  EXPECT_ERROR(InvalidArgument, "ViT takes patches of at least one pixel, got a patch_size of 0",
               zoo::vit({32, 32, 1}, 10, {.patch_size = 0}));
  EXPECT_ERROR(InvalidArgument, "ViT takes a width that is a multiple of its 5 heads, got 384",
               zoo::vit({32, 32, 1}, 10, {.heads = 5}));
}

}  // namespace
}  // namespace lockstep::test
