#include <models/optimizers/keras_rules.h>

#include <lockstep/models/optimizers/sgd.h>

namespace lockstep {
namespace {

/// keras.optimizers.SGD in double precision.
test::ReferenceRule keras_sgd(const SgdOptions& options) {
  return [options, velocity = 0.0](double w, double g, std::int64_t) mutable {
    w -= w * options.weight_decay * options.learning_rate;
    if (options.momentum == 0) return w - options.learning_rate * g;
    velocity = options.momentum * velocity - options.learning_rate * g;
    return options.nesterov ? w + options.momentum * velocity - options.learning_rate * g : w + velocity;
  };
}

class SgdOf : public testing::TestWithParam<SgdOptions> {};

TEST_P(SgdOf, TakesKerasSteps) {
  for (const double start : {0.0, 1.5})
    test::expect_steps_as([] { return SGD(GetParam()); }, [] { return keras_sgd(GetParam()); }, start);
}

INSTANTIATE_TEST_SUITE_P(Options, SgdOf,
                         testing::Values(SgdOptions{}, SgdOptions{.learning_rate = 5e-3, .momentum = 0.9},
                                         SgdOptions{.learning_rate = 0.1, .momentum = 0.5, .nesterov = true},
                                         SgdOptions{.learning_rate = 0.1, .weight_decay = 0.3},
                                         SgdOptions{.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 0.1}));

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
  EXPECT_THROW(SGD({.weight_decay = -1}), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
