#include <algorithm>
#include <map>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/models/zoo/mini_googlenet.h>

namespace lockstep::test {
namespace {

TEST(MiniGoogLeNet, HasTheRecipesLayersAndParameters) {
  const Model model = zoo::mini_googlenet({32, 32, 3}, 10);
  EXPECT_EQ(model.count_params(), 1656250);
  std::int64_t trainable = 0;
  for (const Variable& variable : model.trainable_variables()) trainable += variable.shape().elements();
  EXPECT_EQ(trainable, 1652826);

  std::map<std::string_view, int> layers;
  for (const Layer& layer : model.network().layers()) ++layers[layer.impl().class_name()];
  EXPECT_EQ(layers, (std::map<std::string_view, int>{{"Conv2D", 19},
                                                     {"BatchNormalization", 19},
                                                     {"Activation", 19},
                                                     {"Concatenate", 10},
                                                     {"MaxPooling2D", 2},
                                                     {"AveragePooling2D", 1},
                                                     {"Dropout", 1},
                                                     {"Flatten", 1},
                                                     {"Dense", 1}}));
  EXPECT_THAT(model.summary(), testing::HasSubstr("Total params: 1,656,250 (6.32 MB)"));
}

TEST(MiniGoogLeNet, GivesLogitsOfEachClass) {
  const Model model = zoo::mini_googlenet({32, 32, 1}, 7);
  const Tensor logits = model(random_tensor({2, 32, 32, 1}, 1));
  EXPECT_EQ(logits.shape(), (Shape{2, 7}));
  const std::vector<double> values = logits.to_vector<double>();
  EXPECT_LT(std::ranges::min(values), 0) << "probabilities would be positive";
}

TEST(MiniGoogLeNet, RepeatsWithItsSeed) {
  const auto kernel = [](std::uint64_t seed) {
    return zoo::mini_googlenet({32, 32, 3}, 10, {.seed = seed}).variables()[0].value().to_vector<float>();
  };
  EXPECT_EQ(kernel(1), kernel(1));
  EXPECT_NE(kernel(1), kernel(2));
}

TEST(MiniGoogLeNet, RefusesImagesThatAreTooSmall) {
  EXPECT_EQ(zoo::mini_googlenet({31, 31, 1}, 10).network().output_shape(), Shape{10});
  for (const Shape& images : {Shape{30, 31, 1}, Shape{31, 30, 1}, Shape{31, 31}})
    EXPECT_ERROR(
        InvalidArgument,
        fmt::format("mini_googlenet takes images (height, width, channels) of at least 31 x 31, got {}", images),
        zoo::mini_googlenet(images, 10));
}

}  // namespace
}  // namespace lockstep::test
