#include <gtest/gtest.h>

#include <lockstep/models/layers/naming.h>

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

TEST(UniqueNames, NumberThoseThatAreTaken) {
  UniqueNames names;
  EXPECT_TRUE(names.take("b_1"));
  EXPECT_FALSE(names.take("b_1"));
  const auto made = [&](const char* name) { return names.make(name); };
  EXPECT_EQ(made("a"), "a");
  EXPECT_EQ(made("b"), "b");
  EXPECT_EQ(made("b"), "b_2");
  EXPECT_EQ(made("a"), "a_1");
  EXPECT_EQ(made("a"), "a_2");
  EXPECT_EQ(made("a_1"), "a_1_1");
}

}  // namespace
}  // namespace lockstep
