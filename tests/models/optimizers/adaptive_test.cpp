#include <cmath>

#include <models/optimizers/keras_rules.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/optimizers/adadelta.h>
#include <lockstep/models/optimizers/adafactor.h>
#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/adamax.h>
#include <lockstep/models/optimizers/ftrl.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/lion.h>
#include <lockstep/models/optimizers/muon.h>
#include <lockstep/models/optimizers/nadam.h>
#include <lockstep/models/optimizers/rmsprop.h>

// Adam and other rules that scale each parameter's step, compared with Keras' formulas in double precision.

namespace lockstep {
namespace {

auto rate_of(const LearningRate& learning_rate) {
  return [learning_rate](std::int64_t step) { return learning_rate.at(step); };
}

test::KerasReference keras_adam(const AdamOptions& options) {
  const auto rule = [options]() -> test::ReferenceRule {
    return [options, m = 0.0, v = 0.0, largest = 0.0](double w, double g, std::int64_t t) mutable {
      const auto step = static_cast<double>(t);
      const double alpha = options.learning_rate.at(t - 1) * std::sqrt(1 - std::pow(options.beta_2, step)) /
                           (1 - std::pow(options.beta_1, step));
      m += (g - m) * (1 - options.beta_1);
      v += (g * g - v) * (1 - options.beta_2);
      largest = std::max(largest, v);
      return w - m * alpha / (std::sqrt(options.amsgrad ? largest : v) + options.epsilon);
    };
  };
  return {.rule = rule, .rate = rate_of(options.learning_rate)};
}

class AdamOf : public testing::TestWithParam<AdamOptions> {};

TEST_P(AdamOf, TakesKerasSteps) {
  for (const double start : {0.0, 1.5})
    test::expect_steps_as([] { return Adam(GetParam()); }, keras_adam(GetParam()), start);
}

INSTANTIATE_TEST_SUITE_P(Options, AdamOf,
                         testing::Values(AdamOptions{}, AdamOptions{.learning_rate = 1e-4},
                                         AdamOptions{.learning_rate = 0.1, .beta_1 = 0.5, .beta_2 = 0.9},
                                         AdamOptions{.learning_rate = 0.01, .epsilon = 1e-3},
                                         AdamOptions{.learning_rate = 0.01, .beta_2 = 0.9, .amsgrad = true}));

TEST(Adam, DefaultsAreKeras) { EXPECT_EQ(Adam{}.learning_rate(), 0.001); }

TEST(Adam, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Adam({.learning_rate = -1}), InvalidArgument);
  EXPECT_THROW(Adam({.beta_1 = 1}), InvalidArgument);
  EXPECT_THROW(Adam({.beta_2 = -0.5}), InvalidArgument);
  EXPECT_THROW(Adam({.epsilon = 0}), InvalidArgument);
}

TEST(AdamW, TakesKerasSteps) {
  test::KerasReference keras = keras_adam({.learning_rate = 0.01});
  keras.options.weight_decay = 0.004;
  test::expect_steps_as([] { return AdamW({.learning_rate = 0.01}); }, keras, 1.5);
  keras.options = {.weight_decay = 0.1, .clipnorm = 0.5};
  test::expect_steps_as([] { return AdamW({.learning_rate = 0.01, .weight_decay = 0.1}, {.clipnorm = 0.5}); }, keras,
                        1.5);
}

TEST(AdamW, HasOneWeightDecay) { EXPECT_THROW(AdamW({}, {.weight_decay = 0.1}), InvalidArgument); }

class RmspropOf : public testing::TestWithParam<RmspropOptions> {};

TEST_P(RmspropOf, TakesKerasSteps) {
  const RmspropOptions options = GetParam();
  const auto rule = [options]() -> test::ReferenceRule {
    return [options, v = 0.0, moved = 0.0, average = 0.0](double w, double g, std::int64_t t) mutable {
      v = options.rho * v + (1 - options.rho) * g * g;
      average = options.rho * average + (1 - options.rho) * g;
      const double denominator = v + options.epsilon - (options.centered ? average * average : 0);
      const double increment = options.learning_rate.at(t - 1) * g / std::sqrt(denominator);
      moved = options.momentum * moved + increment;
      return w - moved;
    };
  };
  for (const double start : {0.0, 1.5})
    test::expect_steps_as([&] { return RMSprop(options); }, {.rule = rule, .rate = rate_of(options.learning_rate)},
                          start);
}

INSTANTIATE_TEST_SUITE_P(
    Options, RmspropOf,
    testing::Values(RmspropOptions{}, RmspropOptions{.learning_rate = 0.01, .momentum = 0.9},
                    RmspropOptions{.learning_rate = 0.01, .epsilon = 1e-3, .centered = true},
                    RmspropOptions{
                        .learning_rate = 0.01, .rho = 0.5, .momentum = 0.5, .epsilon = 1e-2, .centered = true}));

TEST(RMSprop, RefusesOptionsOutOfRange) {
  EXPECT_THROW(RMSprop({.rho = 1}), InvalidArgument);
  EXPECT_THROW(RMSprop({.momentum = 2}), InvalidArgument);
  EXPECT_THROW(RMSprop({.epsilon = 0}), InvalidArgument);
}

TEST(Adagrad, TakesKerasSteps) {
  for (const AdagradOptions& options :
       {AdagradOptions{}, AdagradOptions{.learning_rate = 0.1, .initial_accumulator_value = 1, .epsilon = 1e-3}}) {
    const auto rule = [options]() -> test::ReferenceRule {
      return [options, sum = options.initial_accumulator_value](double w, double g, std::int64_t t) mutable {
        sum += g * g;
        return w - options.learning_rate.at(t - 1) * g / std::sqrt(sum + options.epsilon);
      };
    };
    test::expect_steps_as([&] { return Adagrad(options); }, {.rule = rule, .rate = rate_of(options.learning_rate)},
                          1.5);
  }
}

TEST(Adagrad, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Adagrad({.initial_accumulator_value = -1}), InvalidArgument);
  EXPECT_THROW(Adagrad({.initial_accumulator_value = HUGE_VAL}), InvalidArgument);
  EXPECT_THROW(Adagrad({.epsilon = 0}), InvalidArgument);
}

test::KerasReference keras_lamb(const LambOptions& options) {
  const auto rule = [options]() -> test::ReferenceRule {
    return [options, m = 0.0, v = 0.0](double, double g, std::int64_t t) mutable {
      const auto step = static_cast<double>(t);
      m += (g - m) * (1 - options.beta_1);
      v += (g * g - v) * (1 - options.beta_2);
      return m / (1 - std::pow(options.beta_1, step)) /
             (std::sqrt(v / (1 - std::pow(options.beta_2, step))) + options.epsilon);
    };
  };
  return {.rule = rule, .rate = rate_of(options.learning_rate), .by_norms = true};
}

TEST(Lamb, TakesKerasSteps) {
  const LambOptions options{.learning_rate = 0.01};
  for (const double start : {0.0, 1.5})
    test::expect_steps_as([&] { return Lamb(options); }, keras_lamb(options), start);
  test::KerasReference keras = keras_lamb(options);
  keras.options = {.weight_decay = 0.1,
                   .exclude_from_weight_decay = {"bias"},
                   .global_clipnorm = 0.5,
                   .gradient_accumulation_steps = 2,
                   .use_ema = true,
                   .ema_momentum = 0.5};
  test::expect_steps_as([&] { return Lamb(options, keras.options); }, keras, 1.5, 20);
}

TEST(Lion, TakesKerasSteps) {
  for (const LionOptions& options : {LionOptions{}, LionOptions{.learning_rate = 0.01, .beta_1 = 0.5, .beta_2 = 0.8}}) {
    const auto rule = [options]() -> test::ReferenceRule {
      return [options, m = 0.0](double w, double g, std::int64_t t) mutable {
        const double direction = options.beta_1 * m + (1 - options.beta_1) * g;
        m = options.beta_2 * m + (1 - options.beta_2) * g;
        return w - options.learning_rate.at(t - 1) * static_cast<double>((direction > 0) - (direction < 0));
      };
    };
    test::expect_steps_as([&] { return Lion(options); }, {.rule = rule, .rate = rate_of(options.learning_rate)}, 1.5);
  }
}

TEST(Lion, LetsNanThrough) {
  const Variable v = test::variable_of("v", Tensor::zeros({2}));
  Lion{}.apply_gradients(std::vector{Tensor::from(std::vector<float>{std::nanf(""), 0}, {2})}, {v});
  EXPECT_TRUE(std::isnan(v.value().to_vector<float>()[0]));
  EXPECT_EQ(v.value().to_vector<float>()[1], 0);
}

TEST(Lion, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Lion({.beta_1 = 0}), InvalidArgument);
  EXPECT_THROW(Lion({.beta_2 = -1}), InvalidArgument);
}

TEST(Lamb, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Lamb({.beta_1 = 1}), InvalidArgument);
  EXPECT_THROW(Lamb({.epsilon = 0}), InvalidArgument);
}

TEST(Nadam, TakesKerasSteps) {
  for (const NadamOptions& options : {NadamOptions{}, NadamOptions{.learning_rate = 0.1, .beta_1 = 0.5, .beta_2 = 0.9},
                                      NadamOptions{.learning_rate = 0.01, .epsilon = 1e-3}}) {
    const auto rule = [options]() -> test::ReferenceRule {
      return [options, m = 0.0, v = 0.0, product = 1.0](double w, double g, std::int64_t t) mutable {
        const auto step = static_cast<double>(t);
        const double now = options.beta_1 * (1 - 0.5 * std::pow(0.96, step));
        const double next = options.beta_1 * (1 - 0.5 * std::pow(0.96, step + 1));
        product *= now;
        m += (g - m) * (1 - options.beta_1);
        v += (g * g - v) * (1 - options.beta_2);
        const double direction = next * m / (1 - product * next) + (1 - now) * g / (1 - product);
        return w - options.learning_rate.at(t - 1) * direction /
                       (std::sqrt(v / (1 - std::pow(options.beta_2, step))) + options.epsilon);
      };
    };
    test::expect_steps_as([&] { return Nadam(options); }, {.rule = rule, .rate = rate_of(options.learning_rate)}, 1.5);
  }
}

TEST(Nadam, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Nadam({.beta_1 = 1}), InvalidArgument);
  EXPECT_THROW(Nadam({.epsilon = 0}), InvalidArgument);
}

/// Keras' zeropower_via_newtonschulz5 of a matrix of 3 rows and 7 columns, with Muon's default coefficients.
test::Values orthogonal(const test::Values& matrix) {
  constexpr std::size_t rows = 3;
  const std::size_t columns = matrix.size() / rows;
  test::Values x = matrix;
  const double norm = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)) + 1e-7;
  for (double& value : x) value /= norm;
  for (int step = 0; step < 5; ++step) {
    double a[rows][rows] = {};
    double b[rows][rows] = {};
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < rows; ++j)
        for (std::size_t k = 0; k < columns; ++k) a[i][j] += x[i * columns + k] * x[j * columns + k];
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < rows; ++j) {
        b[i][j] = -4.7750 * a[i][j];
        for (std::size_t k = 0; k < rows; ++k) b[i][j] += 2.0315 * a[i][k] * a[k][j];
      }
    test::Values next(x.size());
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = 0; k < columns; ++k) {
        next[i * columns + k] = 3.4445 * x[i * columns + k];
        for (std::size_t j = 0; j < rows; ++j) next[i * columns + k] += b[i][j] * x[j * columns + k];
      }
    x = next;
  }
  return x;
}

TEST(Muon, MovesMatricesAlongOrthogonalMomentum) {
  for (const bool tall : {false, true}) {
    const Shape shape = tall ? Shape{7, 3} : Shape{3, 7};
    const auto kept = [&](const Tensor& x) { return tall ? transpose(x) : x; };
    for (const int replicas : test::replica_counts) {
      const MirroredStrategy strategy = test::mirrored(replicas);
      const std::vector<Variable> variables = strategy.scope([&] {
        return std::vector{test::variable_of("dense/kernel", test::random_tensor(shape, 1)),
                           test::variable_of("dense_1/kernel", test::random_tensor(shape, 2))};
      });
      test::Values w = kept(variables[1].value()).to_vector<double>();
      test::Values m(w.size());
      const Muon optimizer({.learning_rate = 0.1});
      for (unsigned step = 0; step < 4; ++step) {
        const Tensor g = test::random_tensor(shape, 5 + step);
        strategy.run([&] {
          const Tensor own = g / replicas;
          optimizer.apply_gradients(std::vector{own, own}, variables);
        });
        const test::Values gradient = kept(g).to_vector<double>();
        test::Values direction(w.size());
        for (std::size_t i = 0; i < w.size(); ++i) {
          m[i] += gradient[i] - 0.05 * m[i];
          direction[i] = gradient[i] + 0.95 * m[i];
          w[i] -= w[i] * 0.004 * 0.1;
        }
        direction = orthogonal(direction);
        for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.1 * 0.2 * std::sqrt(7) * direction[i];
      }
      verify_mirrored(variables);
      test::expect_close(kept(variables[1].value()), w, 100);
    }
  }
}

TEST(Muon, UpdatesOtherVariablesLikeAdamW) {
  const auto moved = [](const Optimizer& optimizer, const std::string& name, const Shape& shape) {
    const Variable v = test::variable_of(name, test::random_tensor(shape, 1));
    for (unsigned step = 0; step < 3; ++step)
      optimizer.apply_gradients(std::vector{test::random_tensor(shape, 5 + step)}, {v});
    return v.value();
  };
  const MuonOptions options{
      .adam_beta_1 = 0.5, .adam_weight_decay = 0.1, .exclude_layers = {"^out"}, .adam_lr_ratio = 10};
  const AdamWOptions as_adam{.learning_rate = 0.01, .weight_decay = 0.01, .beta_1 = 0.5};
  const std::pair<std::string, Shape> cases[] = {{"bias", {3}}, {"Embedding/table", {3, 2}}, {"output/kernel", {3, 2}}};
  for (const auto& [name, shape] : cases)
    test::expect_close(moved(Muon(options), name, shape), moved(AdamW(as_adam), name, shape).to_vector<double>(), 3);
  const Tensor matrix = moved(Muon(options), "the_output/kernel", {3, 2});
  EXPECT_NE(matrix.to_vector<float>(), moved(AdamW(as_adam), "the_output/kernel", {3, 2}).to_vector<float>());
}

TEST(Muon, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Muon({.adam_beta_2 = 1}), InvalidArgument);
  EXPECT_THROW(Muon({.adam_weight_decay = -1}), InvalidArgument);
  EXPECT_THROW(Muon({.adam_weight_decay = HUGE_VAL}), InvalidArgument);
  EXPECT_THROW(Muon({.weight_decay = HUGE_VAL}), InvalidArgument);
  EXPECT_THROW(Muon({.epsilon = 0}), InvalidArgument);
  EXPECT_THROW(Muon({.momentum = 2}), InvalidArgument);
  EXPECT_THROW(Muon({.ns_steps = -1}), InvalidArgument);
  EXPECT_THROW(Muon({}, {.weight_decay = 0.1}), InvalidArgument);
}

double mean_of(const test::Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double root_mean_square(test::Values values) {
  for (double& value : values) value *= value;
  return std::sqrt(mean_of(values));
}

/// Adafactor's averages of squares of a matrix, by row and by column.
struct FactoredSquares {
  test::Values rows, columns;

  /// Adds the squares of `matrix` with the weight `share`, and returns the approximation of their average.
  test::Values add(const test::Values& matrix, double share, double epsilon) {
    for (double& row : rows) row *= 1 - share;
    for (double& column : columns) column *= 1 - share;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      const double part = share * (matrix[i] * matrix[i] + epsilon);
      rows[i / columns.size()] += part / static_cast<double>(columns.size());
      columns[i % columns.size()] += part / static_cast<double>(rows.size());
    }
    test::Values result;
    for (const double row : rows)
      for (const double column : columns) result.push_back(row / mean_of(rows) * column);
    return result;
  }
};

TEST(Adafactor, TakesKerasSteps) {
  const AdafactorOptions options{
      .learning_rate = 0.8, .beta_2_decay = -0.5, .epsilon_1 = 1e-3, .epsilon_2 = 0.25, .clip_threshold = 0.75};
  for (const int replicas : test::replica_counts) {
    const MirroredStrategy strategy = test::mirrored(replicas);
    const std::vector<Variable> variables = strategy.scope([&] {
      return std::vector{test::variable_of("dense/bias", test::random_tensor({7}, 1)),
                         test::variable_of("dense/kernel", test::random_tensor({2, 3, 7}, 2))};
    });
    const Adafactor optimizer(options);
    FactoredSquares matrices[2] = {{test::Values(3), test::Values(7)}, {test::Values(3), test::Values(7)}};
    test::Values squares(7);
    test::Values expected[2] = {variables[0].value().to_vector<double>(), variables[1].value().to_vector<double>()};
    for (unsigned t = 1; t <= 4; ++t) {
      const std::vector gradients{test::random_tensor({7}, 5 + t), test::random_tensor({2, 3, 7}, 15 + t)};
      strategy.run([&] {
        optimizer.apply_gradients(std::vector{gradients[0] / replicas, gradients[1] / replicas}, variables);
      });
      const double share = 1 / std::sqrt(t);
      const auto move = [&](test::Values& w, test::Values direction, const test::Values& averages) {
        for (std::size_t i = 0; i < w.size(); ++i) direction[i] /= std::sqrt(averages[i]);
        const double size = std::max(root_mean_square(w), 0.25) * std::min(0.8, 1 / std::sqrt(t));
        const double clip = std::max(1.0, root_mean_square(direction) / 0.75);
        for (std::size_t i = 0; i < w.size(); ++i) w[i] -= size * direction[i] / clip;
      };
      const test::Values bias = gradients[0].to_vector<double>();
      for (std::size_t i = 0; i < bias.size(); ++i) squares[i] += share * (bias[i] * bias[i] + 1e-3 - squares[i]);
      move(expected[0], bias, squares);
      const test::Values kernel = gradients[1].to_vector<double>();
      test::Values averages = matrices[0].add({kernel.begin(), kernel.begin() + 21}, share, 1e-3);
      for (const double value : matrices[1].add({kernel.begin() + 21, kernel.end()}, share, 1e-3))
        averages.push_back(value);
      move(expected[1], kernel, averages);
    }
    verify_mirrored(variables);
    for (std::size_t i = 0; i < 2; ++i) test::expect_close(variables[i].value(), expected[i], 100);
  }
}

TEST(Adafactor, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Adafactor({.beta_2_decay = 0.5}), InvalidArgument);
  EXPECT_THROW(Adafactor({.epsilon_1 = 0}), InvalidArgument);
  EXPECT_THROW(Adafactor({.epsilon_1 = HUGE_VAL}), InvalidArgument);
  EXPECT_THROW(Adafactor({.epsilon_2 = -1}), InvalidArgument);
  EXPECT_THROW(Adafactor({.epsilon_2 = HUGE_VAL}), InvalidArgument);
  EXPECT_THROW(Adafactor({.clip_threshold = 0}), InvalidArgument);
}

TEST(Adamax, TakesKerasSteps) {
  for (const AdamaxOptions& options :
       {AdamaxOptions{}, AdamaxOptions{.learning_rate = 0.1, .beta_1 = 0.5, .beta_2 = 0.9},
        AdamaxOptions{.learning_rate = 0.01, .epsilon = 1e-3}}) {
    const auto rule = [options]() -> test::ReferenceRule {
      return [options, m = 0.0, u = 0.0](double w, double g, std::int64_t t) mutable {
        m += (g - m) * (1 - options.beta_1);
        u = std::max(options.beta_2 * u, std::abs(g));
        return w - options.learning_rate.at(t - 1) * m /
                       ((1 - std::pow(options.beta_1, static_cast<double>(t))) * (u + options.epsilon));
      };
    };
    test::expect_steps_as([&] { return Adamax(options); }, {.rule = rule, .rate = rate_of(options.learning_rate)}, 1.5);
  }
}

TEST(Adamax, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Adamax({.beta_2 = 1}), InvalidArgument);
  EXPECT_THROW(Adamax({.epsilon = 0}), InvalidArgument);
}

TEST(Adadelta, TakesKerasSteps) {
  for (const AdadeltaOptions& options :
       {AdadeltaOptions{}, AdadeltaOptions{.learning_rate = 1, .rho = 0.5, .epsilon = 1e-3}}) {
    const auto rule = [options]() -> test::ReferenceRule {
      return [options, a = 0.0, x = 0.0](double w, double g, std::int64_t t) mutable {
        a = options.rho * a + (1 - options.rho) * g * g;
        const double moved = std::sqrt(x + options.epsilon) * g / std::sqrt(a + options.epsilon);
        x = options.rho * x + (1 - options.rho) * moved * moved;
        return w - options.learning_rate.at(t - 1) * moved;
      };
    };
    test::expect_steps_as([&] { return Adadelta(options); }, {.rule = rule, .rate = rate_of(options.learning_rate)},
                          1.5);
  }
}

TEST(Adadelta, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Adadelta({.rho = 1}), InvalidArgument);
  EXPECT_THROW(Adadelta({.epsilon = 0}), InvalidArgument);
}

TEST(Ftrl, TakesKerasSteps) {
  for (const FtrlOptions& options : {FtrlOptions{.learning_rate = 0.1}, FtrlOptions{.learning_rate = 0.1,
                                                                        .learning_rate_power = -0.75,
                                                                        .initial_accumulator_value = 1,
                                                                        .l1_regularization_strength = 0.01,
                                                                        .l2_regularization_strength = 0.1,
                                                                        .l2_shrinkage_regularization_strength = 0.05,
                                                                        .beta = 0.5}}) {
    const auto rule = [options]() -> test::ReferenceRule {
      return [options, a = options.initial_accumulator_value, z = 0.0](double w, double g, std::int64_t t) mutable {
        const double rate = options.learning_rate.at(t - 1);
        const double p = -options.learning_rate_power;
        const double l1 = options.l1_regularization_strength;
        const double b = a + g * g;
        z += g + 2 * options.l2_shrinkage_regularization_strength * w - (std::pow(b, p) - std::pow(a, p)) / rate * w;
        a = b;
        const double l2 = options.l2_regularization_strength + options.beta / (2 * rate);
        return (std::clamp(z, -l1, l1) - z) / (std::pow(b, p) / rate + 2 * l2);
      };
    };
    test::expect_steps_as([&] { return Ftrl(options); }, {.rule = rule, .rate = rate_of(options.learning_rate)}, 1.5);
  }
}

TEST(Ftrl, RefusesOptionsOutOfRange) {
  EXPECT_THROW(Ftrl({.learning_rate_power = 0.5}), InvalidArgument);
  EXPECT_THROW(Ftrl({.learning_rate_power = -HUGE_VAL}), InvalidArgument);
  EXPECT_THROW(Ftrl({.initial_accumulator_value = -1}), InvalidArgument);
  EXPECT_THROW(Ftrl({.l1_regularization_strength = -1}), InvalidArgument);
  EXPECT_THROW(Ftrl({.l2_regularization_strength = -1}), InvalidArgument);
  EXPECT_THROW(Ftrl({.l2_shrinkage_regularization_strength = -1}), InvalidArgument);
  EXPECT_THROW(Ftrl({.l2_shrinkage_regularization_strength = HUGE_VAL}), InvalidArgument);
  EXPECT_THROW(Ftrl({.beta = -1}), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
