#include <algorithm>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>
#include <lockstep/strategy/strategies/one_device_strategy.h>
#include <lockstep/strategy/strategies/verify.h>

// Optimizers on variables with Keras' constraints.

namespace lockstep::test {
namespace {

struct Case {
  std::string name;
  std::function<Optimizer()> make;
};

std::vector<std::pair<std::string, Strategy>> strategies() {
  std::vector<std::pair<std::string, Strategy>> all{{"one device", OneDeviceStrategy("CPU:0")}};
  for (const int replicas : {2, 3}) {
    all.emplace_back(fmt::format("central storage {}", replicas), CentralStorageStrategy(logical_cpus(replicas)));
    for (const CrossDeviceOps ops : host_cross_device_ops)
      all.emplace_back(fmt::format("mirrored {}, {}", replicas, name(ops)), mirrored(replicas, ops));
  }
  return all;
}

/// Constraints of the kernel, the bias and the table; a rate below 1 shows how often each was applied.
std::vector<Constraint> constraints() { return {MinMaxNorm({.max_value = 0.5, .rate = 0.75}), NonNeg(), UnitNorm(1)}; }

std::vector<Variable> make_variables(const std::vector<Constraint>& constraints) {
  const std::vector<Tensor> values{random_tensor({4, 5}, 1), random_tensor({5}, 2), random_tensor({7, 3}, 3)};
  const char* const names[] = {"kernel", "bias", "table"};
  std::vector<Variable> variables;
  for (std::size_t i = 0; i < values.size(); ++i) {
    VariableSpec spec{.name = names[i],
                      .shape = values[i].shape(),
                      .initializer = [value = values[i]](const Tensor& out) { copy(value, out); }};
    if (!constraints.empty()) spec.constraint = constraints[i];
    variables.emplace_back(std::move(spec));
  }
  return variables;
}

void take_step(const Strategy& strategy, const Optimizer& optimizer, const std::vector<Variable>& variables, int step) {
  strategy.run([&] {
    const std::int64_t shift = this_replica() + step;
    GradientTape tape;
    const Tensor ids = Tensor::from<std::int64_t>({shift % 7, (shift + 3) % 7, shift % 7}, {3});
    const Tensor rows = embedding_lookup(variables[2].value(), ids);
    const Tensor product =
        dense(random_tensor({6, 4}, 10U + static_cast<unsigned>(shift)), variables[0].value(), variables[1].value());
    const Tensor loss = sum(square(product - 0.5)) + sum(square(rows - 0.25));
    optimizer.minimize(tape, loss, variables);
  });
}

class ConstrainedSteps : public testing::TestWithParam<Case> {};

// Keras 3's base_optimizer.apply: update, average, then the constraint of each variable, also in steps that only
// accumulate gradients.
TEST_P(ConstrainedSteps, AreStepsAndThenTheConstraintOnEveryCopy) {
  for (const auto& [name, strategy] : strategies()) {
    SCOPED_TRACE(name);
    const auto scope = strategy.scope();
    const std::vector<Variable> variables = make_variables(constraints());
    const std::vector<Variable> by_hand = make_variables({});
    const Optimizer optimizer = GetParam().make();
    const Optimizer of_by_hand = GetParam().make();
    for (int step = 0; step < 5; ++step) {
      take_step(strategy, optimizer, variables, step);
      take_step(strategy, of_by_hand, by_hand, step);
      verify_mirrored(variables);
      for (std::size_t i = 0; i < by_hand.size(); ++i) {
        const Tensor value = Tensor::from(by_hand[i].value().to_vector<float>(), by_hand[i].shape());
        constraints()[i](value);
        by_hand[i].assign(value);
        expect_same_bits(variables[i].value(), value);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, ConstrainedSteps,
    testing::Values(Case{"SGD", [] { return SGD({.learning_rate = 0.05}); }},
                    Case{"Decay",
                         [] {
                           return SGD({.learning_rate = 0.05, .momentum = 0.9},
                                      {.weight_decay = 0.1, .exclude_from_weight_decay = {"bias"}});
                         }},
                    Case{"Clipnorm", [] { return Adam({.learning_rate = 0.1}, {.clipnorm = 0.5}); }},
                    Case{"Accumulating",
                         [] { return SGD({.learning_rate = 0.05}, {.gradient_accumulation_steps = 2}); }},
                    Case{"Average",
                         [] {
                           return Adam({.learning_rate = 0.1},
                                       {.use_ema = true, .ema_momentum = 0.5, .ema_overwrite_frequency = 2});
                         }},
                    Case{"Lamb", [] { return Lamb({.learning_rate = 0.1}); }}),
    [](const auto& info) { return info.param.name; });

// A global batch of 6 rows, whole on one device, split on replicas.
TEST(Constraints, ReplicasEndWhereOneDeviceEnds) {
  constexpr std::int64_t rows = 6;
  constexpr int steps = 8;
  const auto trained = [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    std::vector<Variable> variables = make_variables({MaxNorm(0.75), NonNeg(), UnitNorm(1)});
    variables.pop_back();
    const SGD optimizer({.learning_rate = 0.5, .momentum = 0.5});
    const std::int64_t part = rows / strategy.num_replicas_in_sync();
    for (int step = 0; step < steps; ++step) {
      strategy.run([&] {
        const std::int64_t begin = this_replica() * part;
        const Tensor x = random_tensor({rows, 4}, 20U + static_cast<unsigned>(step)).slice_view(0, begin, begin + part);
        GradientTape tape;
        // Targets that make kernels too long and biases negative.
        const Tensor targets = dense(x, random_tensor({4, 5}, 9, -3, 3), {}) - 2.0;
        const Tensor errors = dense(x, variables[0].value(), variables[1].value()) - targets;
        const Tensor loss = sum(square(errors)) * (1.0 / (rows * 5));
        optimizer.minimize(tape, loss, variables);
      });
      verify_mirrored(variables);
    }
    return variables;
  };
  const std::vector<Variable> expected = trained(OneDeviceStrategy("CPU:0"));
  const std::vector<float> norms = sqrt(sum(square(expected[0].value()), {0})).to_vector<float>();
  EXPECT_NEAR(*std::ranges::max_element(norms), 0.75, tolerance(DType::f32, 4, 0.75)) << "no norm was limited";
  expect_same_bits(expected[1].value(), Tensor::zeros({5}));
  for (const auto& [name, strategy] : strategies()) {
    SCOPED_TRACE(name);
    const std::vector<Variable> several = trained(strategy);
    for (std::size_t i = 0; i < several.size(); ++i)
      expect_close(several[i].value(), expected[i].value().to_vector<double>(), steps * rows * 5, 1);
  }
}

TEST(Constraints, AskTheSystemForNoMemoryAfterWarmUp) {
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  const std::vector<Variable> variables = make_variables(constraints());
  const SGD optimizer({.learning_rate = 0.05});
  const auto system_allocations = [&] {
    std::uint64_t total = 0;
    for (const LogicalDevice& device : strategy.devices()) total += allocator(device).stats().system_allocations;
    return total;
  };
  for (int step = 0; step < 3; ++step) take_step(strategy, optimizer, variables, step);
  const std::uint64_t after_warm_up = system_allocations();
  for (int step = 3; step < 10; ++step) take_step(strategy, optimizer, variables, step);
  EXPECT_EQ(system_allocations(), after_warm_up);
}

}  // namespace
}  // namespace lockstep::test
