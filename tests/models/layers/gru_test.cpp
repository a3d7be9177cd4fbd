#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/models/layers/gru.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(GruLayer, HasKerasWeights) {
  const GRU layer = built(GRU({.units = 3}), {{5, 7}});
  EXPECT_THAT(weights_of(layer),
              testing::ElementsAre("layer/kernel (7, 9)", "layer/recurrent_kernel (3, 9)", "layer/bias (2, 9)"));
  EXPECT_EQ(layer.impl().count_params(), 3 * 3 * (7 + 3 + 2));
  EXPECT_EQ(layer.impl().weights_parts().at(0).group, "cell/vars");
  EXPECT_EQ(shape_after(layer, {{9, 7}}), Shape{3}) << "any number of steps";
  EXPECT_EQ(shape_after(GRU({.units = 3, .return_sequences = true}), {{5, 7}}), Shape({5, 3}));
  expect_same_bits(weight(layer, 2), Tensor::zeros({2, 9}));
}

TEST(GruLayer, ComputesTheOp) {
  const Tensor x = random_tensor({4, 5, 7}, 2);
  for (const bool sequences : {false, true}) {
    const GRU layer =
        built(GRU({.units = 3, .return_sequences = sequences, .bias_initializer = random_normal()}), {{5, 7}});
    expect_same_bits(call(layer, {x}), gru(x, weight(layer, 0), weight(layer, 1), weight(layer, 2), sequences));
  }
}

TEST(GruLayer, GoesBackwards) {
  const Tensor x = random_tensor({4, 3, 7}, 2);
  const Tensor backwards = concatenate(std::vector{slice(x, 1, 2, 3), slice(x, 1, 1, 2), slice(x, 1, 0, 1)}, 1);
  const GRU layer = built(GRU({.units = 3, .return_sequences = true, .go_backwards = true}), {{3, 7}});
  expect_same_bits(call(layer, {x}), gru(backwards, weight(layer, 0), weight(layer, 1), weight(layer, 2), true));
}

TEST(GruLayer, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "GRU needs at least 1 unit", GRU({.units = 0}));
  const GRU layer({.units = 3});
  EXPECT_ERROR(InvalidArgument, "GRU takes sequences (time, features), got (7)", shape_after(layer, {Shape{7}}));
  built(layer, {{5, 7}});
  EXPECT_ERROR(InvalidArgument, "built for 7 features, got (5, 8)", shape_after(layer, {{5, 8}}));
}

}  // namespace
}  // namespace lockstep::test
