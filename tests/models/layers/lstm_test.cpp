#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/models/layers/lstm.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(LstmLayer, HasKerasWeights) {
  const LSTM layer = built(LSTM({.units = 3}), {{5, 7}});
  EXPECT_THAT(weights_of(layer),
              testing::ElementsAre("layer/kernel (7, 12)", "layer/recurrent_kernel (3, 12)", "layer/bias (12)"));
  EXPECT_EQ(layer.impl().count_params(), 4 * 3 * (7 + 3 + 1));
  EXPECT_EQ(shape_after(layer, {{5, 7}}), Shape{3});
  EXPECT_EQ(shape_after(layer, {{9, 7}}), Shape{3}) << "any number of steps";
  EXPECT_EQ(shape_after(LSTM({.units = 3, .return_sequences = true}), {{5, 7}}), Shape({5, 3}));
}

TEST(LstmLayer, TheForgetGateStartsOpen) {
  const std::vector<float> ones_and_zeros{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(weight(built(LSTM({.units = 3}), {{5, 7}}), 2).to_vector<float>(), ones_and_zeros);
  const LSTM closed = built(LSTM({.units = 3, .unit_forget_bias = false}), {{5, 7}});
  EXPECT_EQ(weight(closed, 2).to_vector<float>(), std::vector<float>(12, 0));
}

TEST(LstmLayer, ComputesTheOp) {
  const Tensor x = random_tensor({4, 5, 7}, 2);
  for (const bool sequences : {false, true}) {
    const LSTM layer = built(LSTM({.units = 3, .return_sequences = sequences}), {{5, 7}});
    expect_same_bits(call(layer, {x}), lstm(x, weight(layer, 0), weight(layer, 1), weight(layer, 2), sequences));
  }
}

TEST(LstmLayer, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "at least 1 unit", LSTM({.units = 0}));
  const LSTM layer({.units = 3});
  EXPECT_ERROR(InvalidArgument, "takes sequences (time, features), got (7)", shape_after(layer, {Shape{7}}));
  built(layer, {{5, 7}});
  EXPECT_ERROR(InvalidArgument, "built for 7 features, got (5, 8)", shape_after(layer, {{5, 8}}));
}

}  // namespace
}  // namespace lockstep::test
