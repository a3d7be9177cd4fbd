#include <gtest/gtest.h>

#include <lockstep/models/graph/naming.h>

namespace lockstep {
namespace {

TEST(SnakeCase, IsKeras) {
  EXPECT_EQ(snake_case("Conv2D"), "conv2d");
  EXPECT_EQ(snake_case("BatchNormalization"), "batch_normalization");
  EXPECT_EQ(snake_case("MaxPooling2D"), "max_pooling2d");
  EXPECT_EQ(snake_case("AveragePooling2D"), "average_pooling2d");
  EXPECT_EQ(snake_case("Dense"), "dense");
  EXPECT_EQ(snake_case("ReLU"), "re_lu");
  EXPECT_EQ(snake_case("LSTM"), "lstm");
}

}  // namespace
}  // namespace lockstep
