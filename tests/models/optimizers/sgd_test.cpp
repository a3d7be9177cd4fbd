#include <cmath>
#include <limits>

#include <models/optimizers/keras_rules.h>

#include <lockstep/models/optimizers/sgd.h>

namespace lockstep {
namespace {

/// keras.optimizers.SGD in double precision.
test::KerasReference keras_sgd(const SgdOptions& options) {
  const auto rate = [options](std::int64_t step) { return options.learning_rate.at(step); };
  const auto rule = [options, rate]() -> test::ReferenceRule {
    return [options, rate, velocity = 0.0](double w, double g, std::int64_t t) mutable {
      if (options.momentum == 0) return w - rate(t - 1) * g;
      velocity = options.momentum * velocity - rate(t - 1) * g;
      return options.nesterov ? w + options.momentum * velocity - rate(t - 1) * g : w + velocity;
    };
  };
  return {.rule = rule, .rate = rate};
}

class SgdOf : public testing::TestWithParam<SgdOptions> {};

TEST_P(SgdOf, TakesKerasSteps) {
  for (const double start : {0.0, 1.5})
    test::expect_steps_as([] { return SGD(GetParam()); }, keras_sgd(GetParam()), start);
}

INSTANTIATE_TEST_SUITE_P(Options, SgdOf,
                         testing::Values(SgdOptions{}, SgdOptions{.learning_rate = 5e-3, .momentum = 0.9},
                                         SgdOptions{.learning_rate = 0.1, .momentum = 0.5, .nesterov = true},
                                         SgdOptions{.learning_rate = PolynomialDecay({.initial_learning_rate = 0.1,
                                                                                      .decay_steps = 40})}));

TEST(Sgd, DefaultsAreKeras) {
  EXPECT_EQ(SGD{}.learning_rate(), 0.01);
  const SGD optimizer{{.learning_rate = 5e-3, .momentum = 0.9}};
  EXPECT_EQ(optimizer.learning_rate(), 5e-3);
}

TEST(Sgd, RefusesOptionsOutOfRange) {
  EXPECT_THROW(SGD({.learning_rate = -1}), InvalidArgument);
  EXPECT_THROW(SGD({.learning_rate = std::nan("")}), InvalidArgument);
  EXPECT_THROW(SGD({.momentum = -0.1}), InvalidArgument);
  EXPECT_THROW(SGD({.momentum = 1.1}), InvalidArgument);
  EXPECT_THROW(SGD({}, {.weight_decay = std::numeric_limits<double>::infinity()}), InvalidArgument);
}

// Features that all optimizers share, tested with the simplest rule.

class CommonOptions : public testing::TestWithParam<OptimizerOptions> {};

TEST_P(CommonOptions, AreKeras) {
  for (const SgdOptions& options :
       {SgdOptions{.learning_rate = 0.1}, SgdOptions{.learning_rate = 0.1, .momentum = 0.9}}) {
    test::KerasReference keras = keras_sgd(options);
    keras.options = GetParam();
    test::expect_steps_as([&] { return SGD(options, GetParam()); }, keras, 1.5, 24);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, CommonOptions,
    testing::Values(
        OptimizerOptions{.weight_decay = 0.3},
        OptimizerOptions{.weight_decay = 0.3, .exclude_from_weight_decay = {"bias"}},
        OptimizerOptions{.clipvalue = 0.2}, OptimizerOptions{.clipnorm = 0.5}, OptimizerOptions{.global_clipnorm = 0.5},
        OptimizerOptions{.weight_decay = 0.1,
                         .exclude_from_weight_decay = {"bias"},
                         .global_clipnorm = 0.5,
                         .gradient_accumulation_steps = 2},
        OptimizerOptions{.gradient_accumulation_steps = 3},
        OptimizerOptions{.clipvalue = 0.1, .gradient_accumulation_steps = 4}, OptimizerOptions{.use_ema = true},
        OptimizerOptions{.use_ema = true, .ema_momentum = 0.5},
        OptimizerOptions{.clipnorm = 1, .use_ema = true, .ema_momentum = 0.5, .ema_overwrite_frequency = 5},
        OptimizerOptions{
            .gradient_accumulation_steps = 3, .use_ema = true, .ema_momentum = 0.5, .ema_overwrite_frequency = 4}));

TEST(OptimizerOptions, OutOfRangeAreRefused) {
  EXPECT_THROW(SGD({}, {.weight_decay = -1}), InvalidArgument);
  EXPECT_THROW(SGD({}, {.clipvalue = 1, .clipnorm = 1}), InvalidArgument);
  for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(SGD({}, {.clipvalue = wrong}), InvalidArgument);
    EXPECT_THROW(SGD({}, {.clipnorm = wrong}), InvalidArgument);
    EXPECT_THROW(SGD({}, {.global_clipnorm = wrong}), InvalidArgument);
  }
  EXPECT_THROW(SGD({}, {.gradient_accumulation_steps = 0}), InvalidArgument);
  EXPECT_THROW(SGD({}, {.use_ema = true, .ema_momentum = 1.5}), InvalidArgument);
  EXPECT_THROW(SGD({}, {.use_ema = true, .ema_overwrite_frequency = -1}), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
