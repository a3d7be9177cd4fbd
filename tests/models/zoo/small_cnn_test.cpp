#include <algorithm>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/models/zoo/small_cnn.h>

namespace lockstep::test {
namespace {

// The parameter count of Keras' example.
TEST(SmallCnn, HasTheExamplesParameters) {
  EXPECT_EQ(zoo::small_cnn({28, 28, 1}, 10).count_params(), 34826);
  EXPECT_EQ(zoo::small_cnn({32, 32, 3}, 10).count_params(), 42442);
}

TEST(SmallCnn, GivesLogitsOfEachClass) {
  const Tensor logits = zoo::small_cnn({12, 11, 3}, 7)(random_tensor({2, 12, 11, 3}, 1));
  EXPECT_EQ(logits.shape(), (Shape{2, 7}));
  const std::vector<double> values = logits.to_vector<double>();
  EXPECT_LT(std::ranges::min(values), 0) << "probabilities would be positive";
}

TEST(SmallCnn, RefusesImagesThatAreTooSmall) {
  EXPECT_EQ(zoo::small_cnn({10, 10, 1}, 3).network().output_shape(), Shape{3});
  EXPECT_ERROR(InvalidArgument, "small_cnn takes images (height, width, channels) of at least 10 x 10, got (9, 10, 1)",
               zoo::small_cnn({9, 10, 1}, 3));
}

}  // namespace
}  // namespace lockstep::test
