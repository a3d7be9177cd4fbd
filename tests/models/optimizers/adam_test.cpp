#include <models/optimizers/keras_rules.h>

#include <lockstep/models/optimizers/adam.h>

namespace lockstep {
namespace {

/// keras.optimizers.Adam in double precision.
test::ReferenceRule keras_adam(const AdamOptions& options) {
  return [options, m = 0.0, v = 0.0](double w, double g, std::int64_t t) mutable {
    const auto step = static_cast<double>(t);
    const double alpha =
        options.learning_rate * std::sqrt(1 - std::pow(options.beta_2, step)) / (1 - std::pow(options.beta_1, step));
    m += (g - m) * (1 - options.beta_1);
    v += (g * g - v) * (1 - options.beta_2);
    return w - m * alpha / (std::sqrt(v) + options.epsilon);
  };
}

class AdamOf : public testing::TestWithParam<AdamOptions> {};

TEST_P(AdamOf, TakesKerasSteps) {
  for (const double start : {0.0, 1.5})
    test::expect_steps_as([] { return Adam(GetParam()); }, [] { return keras_adam(GetParam()); }, start);
}

INSTANTIATE_TEST_SUITE_P(Options, AdamOf,
                         testing::Values(AdamOptions{}, AdamOptions{.learning_rate = 1e-4},
                                         AdamOptions{.learning_rate = 0.1, .beta_1 = 0.5, .beta_2 = 0.9},
                                         AdamOptions{.learning_rate = 0.01, .epsilon = 1e-3}));

TEST(Adam, DefaultsAreKeras) { EXPECT_EQ(Adam{}.learning_rate(), 0.001); }

TEST(Adam, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Adam({.learning_rate = -1}), InvalidArgument);
  EXPECT_THROW(Adam({.beta_1 = 1}), InvalidArgument);
  EXPECT_THROW(Adam({.beta_2 = -0.5}), InvalidArgument);
  EXPECT_THROW(Adam({.epsilon = 0}), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
