#include <cmath>

#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/models/optimizers/sgd.h>

// keras.optimizers.schedules; tests/interop compares with Keras itself.

namespace lockstep {
namespace {

constexpr double close = 1e-15;

TEST(Schedules, FallExponentiallyOrAsAnInverse) {
  const ExponentialDecayOptions options{.initial_learning_rate = 0.5, .decay_steps = 10, .decay_rate = 0.25};
  EXPECT_NEAR(ExponentialDecay(options)(5), 0.25, close);
  EXPECT_NEAR(ExponentialDecay(options)(20), 0.5 / 16, close);
  EXPECT_NEAR(InverseTimeDecay(options)(20), 0.5 / 1.5, close);
  ExponentialDecayOptions staircase = options;
  staircase.staircase = true;
  EXPECT_NEAR(ExponentialDecay(staircase)(19), 0.125, close);
  EXPECT_NEAR(InverseTimeDecay(staircase)(19), 0.5 / 1.25, close);
}

TEST(Schedules, StepFromValueToValue) {
  const LearningRateSchedule schedule = PiecewiseConstantDecay({10, 20}, {1, 0.5, 0.25});
  EXPECT_EQ(schedule(0), 1);
  EXPECT_EQ(schedule(10), 1);
  EXPECT_EQ(schedule(11), 0.5);
  EXPECT_EQ(schedule(20), 0.5);
  EXPECT_EQ(schedule(1000), 0.25);
  EXPECT_ERROR(InvalidArgument, "one value more than its 2 boundaries, got 2", PiecewiseConstantDecay({1, 2}, {1, 2}));
  EXPECT_ERROR(InvalidArgument, "must increase", PiecewiseConstantDecay({2, 2}, {1, 2, 3}));
}

TEST(Schedules, FallAsAPolynomial) {
  const LearningRateSchedule once =
      PolynomialDecay({.initial_learning_rate = 1, .decay_steps = 10, .end_learning_rate = 0.1, .power = 2});
  EXPECT_NEAR(once(0), 1, close);
  EXPECT_NEAR(once(5), 0.1 + 0.9 / 4, close);
  EXPECT_NEAR(once(10), 0.1, close);
  EXPECT_NEAR(once(25), 0.1, close);
  const LearningRateSchedule cycle =
      PolynomialDecay({.initial_learning_rate = 1, .decay_steps = 10, .end_learning_rate = 0, .cycle = true});
  EXPECT_NEAR(cycle(0), 1, close);
  EXPECT_NEAR(cycle(15), 0.25, close);
}

TEST(Schedules, FallAlongACosineAfterAWarmUp) {
  const LearningRateSchedule plain = CosineDecay({.initial_learning_rate = 1, .decay_steps = 10, .alpha = 0.2});
  EXPECT_NEAR(plain(0), 1, close);
  EXPECT_NEAR(plain(5), 0.8 * 0.5 + 0.2, close);
  EXPECT_NEAR(plain(99), 0.2, close);
  const LearningRateSchedule warm =
      CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 10, .warmup_target = 1, .warmup_steps = 4});
  EXPECT_NEAR(warm(0), 0.1, close);
  EXPECT_NEAR(warm(2), 0.55, close);
  EXPECT_NEAR(warm(4), 1, close);
  EXPECT_NEAR(warm(9), 0.5, close);
  EXPECT_NEAR(warm(100), 0, close);
}

TEST(Schedules, RestartTheCosine) {
  const LearningRateSchedule schedule =
      CosineDecayRestarts({.initial_learning_rate = 1, .first_decay_steps = 10, .t_mul = 2, .m_mul = 0.5});
  EXPECT_NEAR(schedule(5), 0.5, close);
  EXPECT_NEAR(schedule(10), 0.5, close);
  EXPECT_NEAR(schedule(20), 0.25, close);
  EXPECT_NEAR(schedule(30), 0.25, close);
}

TEST(Schedules, RefuseOptionsOutOfRange) {
  EXPECT_ERROR(InvalidArgument, "decay_steps of at least 1, got 0", ExponentialDecay({.initial_learning_rate = 1}));
  EXPECT_ERROR(InvalidArgument, "decay_steps", InverseTimeDecay({}));
  EXPECT_ERROR(InvalidArgument, "decay_steps", PolynomialDecay({}));
  EXPECT_ERROR(InvalidArgument, "decay_steps", CosineDecay({}));
  EXPECT_ERROR(InvalidArgument, "warm up for -1 steps", CosineDecay({.decay_steps = 1, .warmup_steps = -1}));
  EXPECT_ERROR(InvalidArgument, "t_mul is 0.5", CosineDecayRestarts({.first_decay_steps = 1, .t_mul = 0.5}));
}

TEST(Schedules, OfAnOptimizerCannotBeSetAnew) {
  const SGD optimizer({.learning_rate = CosineDecay({.initial_learning_rate = 0.5, .decay_steps = 10})});
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
  EXPECT_ERROR(LogicError, "follows a schedule", optimizer.set_learning_rate(1));
}

}  // namespace
}  // namespace lockstep
