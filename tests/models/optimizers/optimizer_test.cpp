#include <limits>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/adadelta.h>
#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/adamax.h>
#include <lockstep/models/optimizers/ftrl.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/lion.h>
#include <lockstep/models/optimizers/muon.h>
#include <lockstep/models/optimizers/nadam.h>
#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>
#include <lockstep/strategy/strategies/one_device_strategy.h>

namespace lockstep {
namespace {

using test::this_replica;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// sum((a - target)^2 * (r + 1)) + sum(b), where r is the replica.
Tensor loss_of(const Variable& a, const Variable& b) {
  const double weight = this_replica() + 1;
  return sum(square(a.value() - 3.0) * weight) + sum(b.value());
}

class OptimizerOn : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = test::mirrored(replicas_);

  std::vector<Variable> make_variables() const {
    const auto inside = strategy_.scope();
    return {test::variable_of("a", test::random_tensor({33}, 1)),
            test::variable_of("b", test::random_tensor({4, 5}, 2))};
  }
  void minimize(const Optimizer& optimizer, const std::vector<Variable>& variables) const {
    strategy_.run([&] {
      GradientTape tape;
      const Tensor loss = loss_of(variables[0], variables[1]);
      optimizer.minimize(tape, loss, variables);
    });
  }
};

TEST_P(OptimizerOn, MinimizeIsGradientAndApplyGradients) {
  const auto minimized = make_variables();
  const auto applied = make_variables();
  const Adam first;
  const Adam second;
  for (int step = 0; step < 5; ++step) {
    minimize(first, minimized);
    strategy_.run([&] {
      GradientTape tape;
      const Tensor loss = loss_of(applied[0], applied[1]);
      const auto gradients = tape.gradient(loss, std::vector{applied[0].value(), applied[1].value()});
      second.apply_gradients(gradients, applied);
    });
  }
  for (std::size_t i = 0; i < minimized.size(); ++i)
    for (int replica = 0; replica < replicas_; ++replica)
      test::expect_same_bits(minimized[i].state().copies()[replica], applied[i].state().copies()[replica]);
}

TEST_P(OptimizerOn, MinimizeSumsTheReplicasShares) {
  const auto variables = make_variables();
  const std::vector<double> before = variables[0].value().to_vector<double>();
  minimize(SGD({.learning_rate = 0.01}), variables);
  const double weights = replicas_ * (replicas_ + 1) / 2.0;
  std::vector<double> expected;
  for (const double w : before) expected.push_back(w - 0.01 * weights * 2 * (w - 3));
  test::expect_close(variables[0].value(), expected, replicas_);
}

TEST_P(OptimizerOn, BuiltBeforeItsFirstStepItTakesTheSameSteps) {
  const auto built = make_variables();
  const auto plain = make_variables();
  const Adam first;
  const Adam second;
  strategy_.run([&] { first.build(built); });
  EXPECT_EQ(first.iterations(), 0);
  for (int step = 0; step < 3; ++step) {
    minimize(first, built);
    minimize(second, plain);
  }
  EXPECT_EQ(first.iterations(), 3);
  for (std::size_t i = 0; i < built.size(); ++i) test::expect_same_bits(built[i].value(), plain[i].value());
  EXPECT_NO_THROW(strategy_.run([&] { first.build(built); }));
  EXPECT_THROW(strategy_.run([&] { first.build(plain); }), InvalidArgument);
}

// semantics 8.4: iterations +1 a step, not R
TEST_P(OptimizerOn, CountsStepsNotReplicas) {
  const auto variables = make_variables();
  const SGD optimizer;
  EXPECT_EQ(optimizer.iterations(), 0);
  for (int step = 1; step <= 3; ++step) {
    minimize(optimizer, variables);
    EXPECT_EQ(optimizer.iterations(), step);
  }
  const auto seen = strategy_.run([&] { return optimizer.iterations(); });
  EXPECT_EQ(seen.local_results(), std::vector<std::int64_t>(replicas_, 3));
}

TEST_P(OptimizerOn, AVariableThatTheLossDoesNotUseStays) {
  const auto variables = make_variables();
  const Tensor before = Tensor::from(variables[1].value().to_vector<float>(), {4, 5});
  const SGD optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
  for (int step = 0; step < 2; ++step)
    strategy_.run([&] {
      GradientTape tape;
      optimizer.minimize(tape, sum(square(variables[0].value())), variables);
    });
  test::expect_same_bits(variables[1].value(), before);
}

TEST_P(OptimizerOn, VariablesInAnotherOrderOnSomeReplicaAreRefusedBeforeTheFirstReduction) {
  if (replicas_ == 1) return;
  const auto variables = make_variables();
  const std::vector<double> before = variables[0].value().to_vector<double>();
  const SGD optimizer;
  const auto disordered = [&] {
    strategy_.run([&] {
      GradientTape tape;
      const Tensor loss = loss_of(variables[0], variables[1]);
      const bool last = this_replica() == replicas_ - 1;
      optimizer.minimize(tape, loss, last ? std::vector{variables[1], variables[0]} : variables);
    });
  };
  const std::string difference =
      fmt::format("at position 0 replica 0 has 'a' (33), replica {} has 'b' (4, 5)", replicas_ - 1);
  EXPECT_THAT(disordered, ThrowsMessage<InvalidArgument>(HasSubstr(difference)));
  EXPECT_EQ(variables[0].value().to_vector<double>(), before);
  minimize(optimizer, variables);  // the optimizer is not bound to anything yet
  EXPECT_EQ(optimizer.iterations(), 1);
}

TEST_P(OptimizerOn, ReplicasThatUseNoVariableTakePart) {
  const auto variables = make_variables();
  const SGD optimizer{{.learning_rate = 1}};
  const std::vector<double> before = variables[0].value().to_vector<double>();
  strategy_.run([&] {
    std::vector<Tensor> gradients(2);
    if (this_replica() == 0) gradients[0] = Tensor::full({33}, 0.5);
    optimizer.apply_gradients(gradients, variables);
  });
  std::vector<double> expected;
  for (const double value : before) expected.push_back(value - 0.5);
  test::expect_close(variables[0].value(), expected);
  EXPECT_THAT([&] { strategy_.run([&] { optimizer.apply_gradients(std::vector<Tensor>(2), variables); }); },
              ThrowsMessage<InvalidArgument>(HasSubstr("no gradients provided")));
}

TEST_P(OptimizerOn, TheLearningRateIsSetOutsideReplicas) {
  const SGD optimizer;
  optimizer.set_learning_rate(0.5);
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
  EXPECT_THAT([&] { strategy_.run([&] { optimizer.set_learning_rate(0.1); }); },
              ThrowsMessage<LogicError>(HasSubstr("inside a replica")));
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
}

TEST_P(OptimizerOn, TheNextStepUsesTheNewLearningRate) {
  const auto variables = make_variables();
  const SGD optimizer;
  minimize(optimizer, variables);
  optimizer.set_learning_rate(0);
  const std::vector<float> before = variables[0].value().to_vector<float>();
  minimize(optimizer, variables);
  EXPECT_EQ(variables[0].value().to_vector<float>(), before);
}

TEST_P(OptimizerOn, BelongsToTheVariablesOfItsFirstStep) {
  const auto variables = make_variables();
  const SGD optimizer;
  minimize(optimizer, variables);
  EXPECT_THAT(
      [&] {
        minimize(optimizer, {variables[1], variables[0]});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("2 variables of its first step")));
  EXPECT_THROW(minimize(optimizer, make_variables()), InvalidArgument);
  minimize(optimizer, variables);
  EXPECT_EQ(optimizer.iterations(), 2);
}

TEST_P(OptimizerOn, BelongsToTheStrategyOfItsFirstStep) {
  const SGD optimizer;
  minimize(optimizer, make_variables());
  const MirroredStrategy other = test::mirrored(replicas_);
  const Variable v = other.scope([] { return test::variable_of("v", Tensor::zeros({2})); });
  const auto apply = [&] { optimizer.apply_gradients(std::vector{Tensor::zeros({2})}, {v}); };
  EXPECT_THAT([&] { other.run(apply); }, ThrowsMessage<LogicError>(HasSubstr("another strategy")));
}

TEST_P(OptimizerOn, AnErrorWhileItIsBuiltReachesTheCallerAndCanBeRepaired) {
  const auto variables = make_variables();
  const SGD optimizer;
  const auto apply_twice_given = [&] {
    const Tensor gradient = Tensor::zeros({33});
    optimizer.apply_gradients(std::vector{gradient, gradient}, {variables[0], variables[0]});
  };
  EXPECT_THAT([&] { strategy_.run(apply_twice_given); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'a' is given twice")));
  minimize(optimizer, variables);
  EXPECT_EQ(optimizer.iterations(), 1);
}

TEST_P(OptimizerOn, WithoutAggregationEachReplicaUpdatesItsOwnCopy) {
  const auto alone = [&](int replica, const OptimizerOptions& options) {
    const Variable v = test::variable_of("v", test::random_tensor({33}, 1));
    const Adam optimizer({.learning_rate = 0.1}, options);
    for (int step = 0; step < 4; ++step)
      optimizer.apply_gradients(
          std::vector{test::random_tensor({33}, 9U + static_cast<unsigned>(step)) * (replica + 1.0)}, {v});
    return v.value();
  };
  for (OptimizerOptions options : {OptimizerOptions{}, OptimizerOptions{.clipnorm = 0.5, .use_ema = true},
                                   OptimizerOptions{.clipvalue = 0.25, .gradient_accumulation_steps = 2}}) {
    const Variable v = strategy_.scope([] { return test::variable_of("v", test::random_tensor({33}, 1)); });
    options.aggregate = false;
    const Adam optimizer({.learning_rate = 0.1}, options);
    options.aggregate = true;
    options.clip_before_aggregate = true;
    for (int step = 0; step < 4; ++step)
      strategy_.run([&] {
        const double scale = this_replica() + 1;
        optimizer.apply_gradients(std::vector{test::random_tensor({33}, 9U + static_cast<unsigned>(step)) * scale},
                                  {v});
      });
    for (int replica = 0; replica < replicas_; ++replica)
      test::expect_same_bits(v.state().copies()[static_cast<std::size_t>(replica)], alone(replica, options));
  }
}

TEST_P(OptimizerOn, OnlyOneOptimizerMovesAVariable) {
  const auto variables = make_variables();
  const SGD first;
  minimize(first, variables);
  minimize(SGD(), variables);
  EXPECT_THAT([&] { minimize(first, variables); }, ThrowsMessage<LogicError>(HasSubstr("another optimizer")));
}

/// Keras 3's base_optimizer: the average moves in every step, towards the value after the step.
class AveragedDescent {
 public:
  AveragedDescent(int accumulation, double momentum, int overwrite_frequency)
      : accumulation_(accumulation), momentum_(momentum), frequency_(overwrite_frequency) {}

  void step(double gradient) {
    sum_ += gradient;
    if ((done_ + 1) % accumulation_ == 0) parameter -= std::exchange(sum_, 0.0) / accumulation_;
    const int update = done_++ / accumulation_ + 1;
    const double momentum = update == 1 ? 0 : momentum_;
    average = momentum * average + (1 - momentum) * parameter;
    if (frequency_ > 0 && update % frequency_ == 0) parameter = average;
  }

  double parameter = 0;
  double average = 0;

 private:
  int accumulation_;
  double momentum_;
  int frequency_;
  int done_ = 0;
  double sum_ = 0;
};

// Keras 3.15: -2.375 after 6 steps of gradients of 1 with 2 steps for an update, a momentum of 0.5 and SGD's rate 1
TEST_P(OptimizerOn, AveragesMoveInEveryStepAlsoInThoseThatAccumulate) {
  for (const int frequency : {0, 2}) {
    const Variable table = strategy_.scope([] { return test::variable_of("table", Tensor::zeros({3, 2})); });
    const Variable dense = strategy_.scope([] { return test::variable_of("dense", Tensor::zeros({5})); });
    const SGD optimizer(
        {.learning_rate = 1},
        {.gradient_accumulation_steps = 2, .use_ema = true, .ema_momentum = 0.5, .ema_overwrite_frequency = frequency});
    AveragedDescent expected(2, 0.5, frequency);
    for (int step = 0; step < 7; ++step) {
      const double gradient = step % 3 + 1;
      strategy_.run([&] {
        const Tensor rows = Tensor::full({3, 2}, gradient / replicas_);
        const IndexedSlices slices{rows, Tensor::from<std::int64_t>({0, 1, 2}, {3}), {3, 2}};
        optimizer.apply_gradients(std::vector<DenseOrSparse>{slices, Tensor::full({5}, gradient / replicas_)},
                                  {table, dense});
      });
      expected.step(gradient);
      for (const Variable& variable : {table, dense})
        for (const Tensor& copy : variable.state().copies())
          for (const float value : copy.to_vector<float>()) EXPECT_NEAR(value, expected.parameter, 1e-5) << step;
      const OptimizerState state = optimizer.state();
      for (const Tensor& average : state.slots.back().values)
        for (const float value : average.to_vector<float>()) EXPECT_NEAR(value, expected.average, 1e-5) << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Replicas, OptimizerOn, testing::ValuesIn(test::replica_counts));

TEST(Optimizer, WithoutAggregationRefusesWhatReplicasShare) {
  const CentralStorageStrategy central(logical_cpus(2));
  const auto apply = [](const Strategy& strategy, const Optimizer& optimizer) {
    const Variable v = strategy.scope([] { return test::variable_of("v", Tensor::zeros({2})); });
    strategy.run([&] { optimizer.apply_gradients(std::vector{Tensor::zeros({2})}, {v}); });
  };
  EXPECT_THAT([&] { apply(central, SGD({}, {.aggregate = false})); },
              ThrowsMessage<Unsupported>(HasSubstr("variable 'v' has 1 for 2 replicas")));
  EXPECT_THAT([&] { apply(test::mirrored(2), Lamb({}, {.aggregate = false})); },
              ThrowsMessage<Unsupported>(HasSubstr("summed gradients of whole variables")));
}

TEST(Optimizer, WithoutAggregationIsTheUsualForOneReplica) {
  const auto updated = [](bool aggregate) {
    const OneDeviceStrategy strategy("CPU:0");
    const Variable v = strategy.scope([] { return test::variable_of("v", test::random_tensor({33}, 1)); });
    const Lamb optimizer({.learning_rate = 0.1}, {.weight_decay = 0.1, .aggregate = aggregate});
    for (unsigned step = 0; step < 3; ++step)
      strategy.run([&] { optimizer.apply_gradients(std::vector{test::random_tensor({33}, 9 + step)}, {v}); });
    return v.value();
  };
  test::expect_same_bits(updated(false), updated(true));
}

TEST(Optimizer, WorksOutsideEveryStrategy) {
  const Variable v = test::variable_of("v", Tensor::full({2}, 1));
  const SGD optimizer{{.learning_rate = 0.25}};
  for (int step = 0; step < 2; ++step) {
    GradientTape tape;
    const Tensor loss = sum(square(v.value()));
    optimizer.minimize(tape, loss, {v});
  }
  test::expect_same_bits(v.value(), Tensor::full({2}, 0.25));
  EXPECT_EQ(optimizer.iterations(), 2);
}

TEST(Optimizer, WorksOutsideEveryStrategyFromAnyThread) {
  const Variable v = test::variable_of("v", Tensor::full({2}, 1));
  const SGD optimizer{{.learning_rate = 1}};
  const auto step = [&] { optimizer.apply_gradients(std::vector{Tensor::full({2}, 1)}, {v}); };
  step();
  std::thread(step).join();
  test::expect_same_bits(v.value(), Tensor::full({2}, -1));
}

TEST(Optimizer, TakesNoStepInAScopeOutsideRun) {
  const auto inside = test::mirrored(2).scope();
  const Variable v = test::variable_of("v", Tensor::zeros({2}));
  EXPECT_THAT([&] { SGD().apply_gradients(std::vector{Tensor::zeros({2})}, {v}); },
              ThrowsMessage<LogicError>(HasSubstr("there is no replica here")));
}

TEST(Optimizer, CopiesAreTheSameOptimizer) {
  const SGD optimizer;
  const Optimizer same = optimizer;
  same.set_learning_rate(0.125);
  EXPECT_EQ(optimizer.learning_rate(), 0.125);
}

TEST(Optimizer, RefusesALearningRateThatIsNone) {
  const SGD optimizer;
  for (const double wrong : {-1e-9, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(optimizer.set_learning_rate(wrong), InvalidArgument);
  EXPECT_EQ(optimizer.learning_rate(), 0.01);
}

// Probe P9, semantics 8.3: each of two replicas has a gradient of 1.5 and nothing is to be larger than 2. Keras 3 clips
// before the sum, which gives v = -2; here and in Keras 2 the sum is clipped.
TEST(Optimizers, ClipTheSumOfTheReplicasGradients) {
  const MirroredStrategy strategy = test::mirrored(2);
  const Variable v = strategy.scope([] { return test::variable_of("v", Tensor::full({1}, 1)); });
  const SGD optimizer({.learning_rate = 1}, {.clipvalue = 2});
  strategy.run([&] { optimizer.apply_gradients(std::vector{Tensor::full({1}, 1.5)}, {v}); });
  EXPECT_EQ(v.value().item<float>(), -1);
}

struct Clip {
  const char* name;
  OptimizerOptions options;
  std::vector<float> expected;  ///< values of (0, 0) and 0 after two steps with rate 1
};

class ClipBeforeAggregate : public ::testing::TestWithParam<Clip> {};

// Semantics 8.3: as Keras 3 clips. Replica 0's gradients are (3, 4) and 12, of norms 5, 12 and 13; replica 1's are a
// tenth of them, which no limit here touches.
TEST_P(ClipBeforeAggregate, LimitsEachReplicasOwnGradient) {
  const MirroredStrategy strategy = test::mirrored(2);
  const auto [a, b] = strategy.scope(
      [] { return std::pair(test::variable_of("a", Tensor::zeros({2})), test::variable_of("b", Tensor::zeros({1}))); });
  const SGD optimizer({.learning_rate = 1}, GetParam().options);
  for (int step = 0; step < 2; ++step)
    strategy.run([&, a = a, b = b] {
      const float scale = get_replica_context().replica_id_in_sync_group() == 0 ? 1.0F : 0.1F;
      optimizer.apply_gradients(std::vector{Tensor::from(std::vector{3 * scale, 4 * scale}, {2}),
                                            Tensor::full({1}, static_cast<double>(12 * scale))},
                                {a, b});
    });
  std::vector<float> got = a.value().to_vector<float>();
  got.push_back(b.value().item<float>());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_FLOAT_EQ(got[i], GetParam().expected[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, ClipBeforeAggregate,
    ::testing::Values(
        Clip{"value", {.clipvalue = 3.5, .clip_before_aggregate = true}, {-6.6F, -7.8F, -9.4F}},
        Clip{"norm", {.clipnorm = 2.5, .clip_before_aggregate = true}, {-3.6F, -4.8F, -7.4F}},
        Clip{"global_norm", {.global_clipnorm = 6.5, .clip_before_aggregate = true}, {-3.6F, -4.8F, -14.4F}},
        Clip{"value_of_two_steps",
             {.clipvalue = 3.5, .clip_before_aggregate = true, .gradient_accumulation_steps = 2},
             {-3.3F, -3.9F, -4.7F}}),
    [](const auto& param) { return param.param.name; });

// `{}` must mean default options, not another optimizer.
TEST(Optimizer, TakesEmptyOptions) {
  EXPECT_EQ(Adam({}).learning_rate(), 0.001);
  EXPECT_EQ(AdamW({}).learning_rate(), 0.001);
  EXPECT_EQ(SGD({}).learning_rate(), 0.01);
  EXPECT_EQ(RMSprop({}).learning_rate(), 0.001);
  EXPECT_EQ(Adagrad({}).learning_rate(), 0.001);
  EXPECT_EQ(Lamb({}).learning_rate(), 0.001);
  EXPECT_EQ(Lion({}).learning_rate(), 0.001);
  EXPECT_EQ(Ftrl({}).learning_rate(), 0.001);
  EXPECT_EQ(Adadelta({}).learning_rate(), 0.001);
  EXPECT_EQ(Adamax({}).learning_rate(), 0.001);
  EXPECT_EQ(Muon({}).learning_rate(), 0.001);
  EXPECT_EQ(Nadam({}).learning_rate(), 0.001);
}

}  // namespace
}  // namespace lockstep
