#include <atomic>
#include <functional>

#include <models/optimizers/keras_rules.h>
#include <support/expect_error.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>

// Optimizers that a program defines, by a functor of elements or by ops on whole variables.

namespace lockstep {
namespace {

/// Heavy-ball momentum with a sum of squares: m = 0.5 * m + g; a += g^2; w -= learning_rate * m / sqrt(a + 1).
struct Ball {
  static constexpr int slots = 2;
  LOCKSTEP_HOST_DEVICE float operator()(float w, float gradient, float& m, float& a) const {
    m = 0.5F * m + gradient;
    a = a + gradient * gradient;
    return w - learning_rate * m / std::sqrt(a + 1);
  }
  float learning_rate;
};

class BallRule : public Optimizer::Rule {
 public:
  ObjectConfig config() const override { return {"Ball"}; }
  std::vector<Slot> slots() const override { return {{.name = "m"}, {.name = "a"}}; }
};

class ElementBall final : public BallRule {
 public:
  OptimizerStep step(float learning_rate, std::int64_t) const override { return element_rule(Ball{learning_rate}); }
};

class VariableBall final : public BallRule {
 public:
  bool computes_variables() const override { return true; }
  void compute(VariableStep& step) const override {
    step.slots[0] = step.slots[0] * 0.5 + step.gradient;
    step.slots[1] = step.slots[1] + square(step.gradient);
    step.value = step.value - step.slots[0] * step.learning_rate / sqrt(step.slots[1] + 1);
  }
};

/// A rule made of a function.
class FunctionRule final : public BallRule {
 public:
  explicit FunctionRule(std::function<void(VariableStep&)> compute) : compute_(std::move(compute)) {}
  bool computes_variables() const override { return true; }
  void compute(VariableStep& step) const override { compute_(step); }

 private:
  std::function<void(VariableStep&)> compute_;
};

struct Own : Optimizer {
  explicit Own(std::unique_ptr<const Rule> rule, const OptimizerOptions& options = {})
      : Optimizer(0.1, std::move(rule), options) {}
};

using MakeRule = std::unique_ptr<const Optimizer::Rule> (*)();

class OwnRule : public testing::TestWithParam<MakeRule> {
 protected:
  static Own make(const OptimizerOptions& options = {}) { return Own(GetParam()(), options); }
};

TEST_P(OwnRule, TakesItsStepsWithAllOptions) {
  const auto rule = []() -> test::ReferenceRule {
    return [m = 0.0, a = 0.0](double w, double g, std::int64_t) mutable {
      m = 0.5 * m + g;
      a += g * g;
      return w - 0.1 * m / std::sqrt(a + 1);
    };
  };
  const OptimizerOptions all[] = {
      {},
      {.weight_decay = 0.1, .exclude_from_weight_decay = {"bias"}, .clipnorm = 0.5},
      {.clipvalue = 0.2, .use_ema = true, .ema_momentum = 0.5},
      {.global_clipnorm = 0.5, .gradient_accumulation_steps = 2, .use_ema = true, .ema_overwrite_frequency = 3}};
  for (const OptimizerOptions& options : all)
    test::expect_steps_as([&] { return make(options); },
                          {.rule = rule, .rate = [](std::int64_t) { return 0.1; }, .options = options}, 1.5, 20);
}

TEST_P(OwnRule, GoesOnFromItsStateOnOtherReplicas) {
  const auto variables_on = [](const Strategy& strategy) {
    return strategy.scope([] {
      return std::vector{test::variable_of("kernel", test::random_tensor({5, 3}, 1)),
                         test::variable_of("bias", test::random_tensor({3}, 2))};
    });
  };
  const auto train = [](const Strategy& strategy, const Optimizer& optimizer, const std::vector<Variable>& variables) {
    for (unsigned step = 0; step < 3; ++step)
      strategy.run([&] {
        optimizer.apply_gradients(test::this_replica() == 0 ? std::vector{test::random_tensor({5, 3}, 7 + step),
                                                                          test::random_tensor({3}, 9 + step)}
                                                            : std::vector{Tensor::zeros({5, 3}), Tensor::zeros({3})},
                                  variables);
      });
  };
  const MirroredStrategy one = test::mirrored(1);
  const std::vector<Variable> straight = variables_on(one);
  const Own optimizer = make({.use_ema = true});
  train(one, optimizer, straight);
  const OptimizerState state = optimizer.state();
  EXPECT_EQ(state.slots.at(1).name, "a");
  std::vector<Tensor> values;
  for (const Variable& variable : straight)
    values.push_back(Tensor::from(variable.value().to_vector<float>(), variable.shape()));
  train(one, optimizer, straight);

  const std::vector<Strategy> strategies{test::mirrored(3), CentralStorageStrategy(logical_cpus(2))};
  for (const Strategy& strategy : strategies) {
    const std::vector<Variable> resumed = variables_on(strategy);
    for (std::size_t i = 0; i < resumed.size(); ++i) resumed[i].assign(values[i]);
    const Own next = make({.use_ema = true});
    next.load_state(state);
    train(strategy, next, resumed);
    verify_mirrored(resumed);
    for (std::size_t i = 0; i < resumed.size(); ++i) test::expect_same_bits(resumed[i].value(), straight[i].value());
  }
}

INSTANTIATE_TEST_SUITE_P(
    By, OwnRule,
    testing::Values([]() -> std::unique_ptr<const Optimizer::Rule> { return std::make_unique<ElementBall>(); },
                    []() -> std::unique_ptr<const Optimizer::Rule> { return std::make_unique<VariableBall>(); }));

/// Keeps the slot "a" for "kernel" alone.
class SelectiveRule final : public BallRule {
 public:
  explicit SelectiveRule(std::atomic<int>& asked) : asked_(asked) {}
  bool keeps(const Slot& slot, const Variable& variable) const override {
    ++asked_;
    return slot.name == "m" || variable.name() == "kernel";
  }
  bool computes_variables() const override { return true; }
  void compute(VariableStep& step) const override {
    EXPECT_EQ(step.keeps, (std::vector<bool>{true, step.variable.name() == "kernel"}));
    EXPECT_EQ(step.slots[1].defined(), step.keeps[1]);
    for (Tensor& slot : step.slots)
      if (slot.defined()) slot = slot + step.gradient;
    step.value = step.value - step.gradient;
  }

 private:
  std::atomic<int>& asked_;
};

TEST(OwnRules, HaveNoSlotsThatTheyDoNotKeep) {
  std::atomic<int> asked = 0;
  const MirroredStrategy strategy = test::mirrored(2);
  const std::vector<Variable> variables = strategy.scope([] {
    return std::vector{test::variable_of("kernel", Tensor::zeros({2})), test::variable_of("bias", Tensor::zeros({3}))};
  });
  const Own optimizer(std::make_unique<SelectiveRule>(asked));
  for (int step = 0; step < 3; ++step)
    strategy.run([&] {
      optimizer.apply_gradients(std::vector{Tensor::full({2}, 0.5), Tensor::full({3}, 0.5)}, variables);
    });
  EXPECT_EQ(asked, 4) << "once for each slot of each variable";
  const OptimizerState state = optimizer.state();
  EXPECT_EQ(state.slots.at(0).values.at(1).to_vector<float>(), (std::vector<float>{3, 3, 3}));
  EXPECT_EQ(state.slots.at(1).values.at(0).to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(state.slots.at(1).values.at(1).to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

void apply(const std::function<void(VariableStep&)>& compute) {
  const Variable v = test::variable_of("v", Tensor::zeros({2}));
  Own(std::make_unique<FunctionRule>(compute)).apply_gradients(std::vector{Tensor::full({2}, 1)}, {v});
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{0, 0})) << "changed although the rule failed";
}

TEST(OwnRules, ThatComputeSomethingElseAreRefused) {
  EXPECT_ERROR(InvalidArgument,
               "the optimizer's rule must compute the new value of 'v' as f32 (2), it computed f32 (3)",
               apply([](VariableStep& step) { step.value = Tensor::zeros({3}); }));
  EXPECT_ERROR(InvalidArgument, "the optimizer's rule must compute a slot of 'v' as f32 (2), it computed",
               apply([](VariableStep& step) { step.slots[1] = Tensor(); }));
  EXPECT_ERROR(InvalidArgument, "the optimizer's rule must compute 2 slots of 'v', it computed 1",
               apply([](VariableStep& step) { step.slots.pop_back(); }));
}

TEST(OwnRules, WithoutAStepAreRefused) {
  class Empty final : public BallRule {};
  const Variable v = test::variable_of("v", Tensor::zeros({2}));
  EXPECT_ERROR(Unsupported, "the rule of the optimizer Ball overrides neither step nor computes_variables",
               Own(std::make_unique<Empty>()).apply_gradients(std::vector{Tensor::zeros({2})}, {v}));
}

TEST(OwnRules, ConfigurationsAreNotMadeFromFiles) {
  EXPECT_ERROR(InputError, "the optimizer is of class Ball; known are",
               optimizer_from_config(Own(std::make_unique<ElementBall>()).config()));
}

}  // namespace
}  // namespace lockstep
