#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using Vectors = std::vector<std::vector<float>>;

/// `count` arrays of n random elements.
Vectors random_vectors(std::size_t count, std::int64_t n, unsigned seed, double low = -1, double high = 1) {
  Vectors result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(random_tensor({n}, seed + static_cast<unsigned>(i), low, high).to_vector<float>());
  return result;
}

template <class T>
std::vector<T*> pointers(auto& vectors, std::int64_t from = 0) {
  std::vector<T*> result;
  for (auto& v : vectors) result.push_back(v.data() + from);
  return result;
}

/// An optimizer's memory for several replicas.
struct Problem {
  Vectors gradients, parameters, state;

  Problem(std::size_t replicas, std::size_t slots, std::int64_t n)
      : gradients(random_vectors(replicas, n, 10)),
        parameters(replicas, random_vectors(1, n, 50)[0]),
        state(slots, std::vector<float>(static_cast<std::size_t>(n))) {}

  std::int64_t size() const { return static_cast<std::int64_t>(parameters[0].size()); }

  void update(const OptimizerStep& step, std::int64_t begin, std::int64_t end) {
    const auto g = pointers<const float>(std::as_const(gradients), begin);
    const auto w = pointers<float>(parameters, begin);
    const auto s = pointers<float>(state, begin);
    kernels::run_on_cpu(kernels::Update{step, UpdateViews{g, w, s, end - begin}});
  }
};

double gradient_sum(const Problem& p, std::size_t i) {
  double sum = 0;
  for (const auto& g : p.gradients) sum += static_cast<double>(g[i]);
  return sum;
}

/// Updates one parameter by a rule of keras/src/optimizers, update_step, in double precision.
double reference_rule(const SgdStep& s, double w, double g, std::vector<double>& slots) {
  const double rate = s.learning_rate;
  const double momentum = s.momentum;
  if (momentum == 0) return w - rate * g;
  slots[0] = slots[0] * momentum - g * rate;
  return s.nesterov ? w + slots[0] * momentum - g * rate : w + slots[0];
}

double reference_rule(const AdamStep& s, double w, double g, std::vector<double>& slots) {
  const auto t = static_cast<double>(s.t);
  const double alpha =
      static_cast<double>(s.learning_rate) * std::sqrt(1 - std::pow(s.beta_2, t)) / (1 - std::pow(s.beta_1, t));
  slots[0] += (g - slots[0]) * (1 - s.beta_1);
  slots[1] += (g * g - slots[1]) * (1 - s.beta_2);
  if (s.amsgrad) slots[2] = std::max(slots[2], slots[1]);
  return w - slots[0] * alpha / (std::sqrt(slots[s.amsgrad ? 2 : 1]) + static_cast<double>(s.epsilon));
}

double reference_rule(const RmspropStep& s, double w, double g, std::vector<double>& slots) {
  const double momentum = s.momentum;
  slots[0] = s.rho * slots[0] + (1 - s.rho) * g * g;
  double denominator = slots[0] + static_cast<double>(s.epsilon);
  if (s.centered) {
    double& average = slots[momentum != 0 ? 2 : 1];
    average = s.rho * average + (1 - s.rho) * g;
    denominator -= average * average;
  }
  const double increment = static_cast<double>(s.learning_rate) * g / std::sqrt(denominator);
  if (momentum == 0) return w - increment;
  slots[1] = momentum * slots[1] + increment;
  return w - slots[1];
}

double reference_rule(const AdagradStep& s, double w, double g, std::vector<double>& slots) {
  slots[0] += g * g;
  return w - static_cast<double>(s.learning_rate) * g / std::sqrt(slots[0] + static_cast<double>(s.epsilon));
}

double reference_rule(const LambDirectionStep& s, double, double g, std::vector<double>& slots) {
  const auto t = static_cast<double>(s.t);
  slots[0] += (g - slots[0]) * (1 - s.beta_1);
  slots[1] += (g * g - slots[1]) * (1 - s.beta_2);
  return slots[0] / (1 - std::pow(s.beta_1, t)) /
         (std::sqrt(slots[1] / (1 - std::pow(s.beta_2, t))) + static_cast<double>(s.epsilon));
}

/// A whole step, with the code around the rule as in keras/src/optimizers/base_optimizer.py.
template <class Rule>
double reference_step(const Rule& rule, const StepOptions& step, double w, double g, std::vector<double>& slots) {
  const double most = step.clip_value;
  g = std::clamp(g * static_cast<double>(step.gradient_scale), -most, most);
  w -= w * static_cast<double>(step.decay);
  w = reference_rule(rule, w, g, slots);
  if (step.average == OptimizerStep::Average::none) return w;
  double& average = slots.back();
  const double momentum = step.average_momentum;
  average = momentum * average + (1 - momentum) * w;
  return step.average == OptimizerStep::Average::overwrite ? average : w;
}

/// `rule_at(t)` gives the rule of step t = 1, 2, ...; `set` its options.
template <class RuleAt>
void expect_reference(const RuleAt& rule_at, const std::function<void(StepOptions&, int t)>& set = {}) {
  const int steps = 5;
  const auto step_at = [&](int t) {
    OptimizerStep step(rule_at(t));
    if (set) set(step, t);
    return step;
  };
  const auto slots_of = static_cast<std::size_t>(state_slots(step_at(1)));
  for (const std::size_t replicas : {1U, 2U, 5U}) {
    for (const std::int64_t n : {0, 1, 1500}) {
      Problem problem(replicas, slots_of, n);
      const std::vector<float> start = problem.parameters[0];
      for (int t = 1; t <= steps; ++t) problem.update(step_at(t), 0, n);
      for (std::size_t i = 0; i < start.size(); ++i) {
        auto w = static_cast<double>(start[i]);
        std::vector<double> slots(slots_of);
        for (int t = 1; t <= steps; ++t) w = reference_step(rule_at(t), step_at(t), w, gradient_sum(problem, i), slots);
        const auto terms = static_cast<double>(replicas) + 1;  // the parameter and the gradients, each at most 1
        ASSERT_NEAR(static_cast<double>(problem.parameters[0][i]), w, tolerance(DType::f32, steps, terms));
      }
      for (const auto& copy : problem.parameters) ASSERT_EQ(copy, problem.parameters[0]);
    }
  }
}

TEST(Sgd, FollowsKeras) {
  expect_reference([](int) { return SgdStep{.learning_rate = 0.1F}; });
  expect_reference([](int) { return SgdStep{.learning_rate = 0.1F, .momentum = 0.9F}; });
  expect_reference([](int) { return SgdStep{.learning_rate = 0.1F, .momentum = 0.9F, .nesterov = true}; });
}

TEST(Adam, FollowsKeras) {
  expect_reference([](int t) { return AdamStep{.learning_rate = 0.01F, .t = t}; });
  expect_reference([](int t) { return AdamStep{.beta_1 = 0.5, .beta_2 = 0.9, .epsilon = 1e-3F, .t = t}; });
  expect_reference([](int t) { return AdamStep{.learning_rate = 0.01F, .amsgrad = true, .t = t}; });
}

TEST(Rmsprop, FollowsKeras) {
  for (const float momentum : {0.0F, 0.9F})
    for (const bool centered : {false, true})
      expect_reference([&](int) {
        return RmspropStep{.learning_rate = 0.01F, .momentum = momentum, .epsilon = 1e-3F, .centered = centered};
      });
}

TEST(Adagrad, FollowsKeras) {
  expect_reference([](int) { return AdagradStep{.learning_rate = 0.1F, .epsilon = 1e-3F}; });
}

TEST(LambDirection, FollowsKeras) {
  expect_reference([](int t) { return LambDirectionStep{.epsilon = 1e-3F, .t = t}; });
}

template <class Rule>
void expect_common_options(const Rule& rule) {
  const auto rule_at = [&](int) { return rule; };
  expect_reference(rule_at, [](StepOptions& step, int) { step.decay = 0.05F; });
  expect_reference(rule_at, [](StepOptions& step, int) { step.gradient_scale = 0.25F; });
  expect_reference(rule_at, [](StepOptions& step, int) { step.clip_value = 0.3F; });
  expect_reference(rule_at, [](StepOptions& step, int t) {
    step.gradient_scale = 0.5F;
    step.clip_value = 0.2F;
    step.decay = 0.1F;
    step.average = t % 2 == 0 ? StepOptions::Average::overwrite : StepOptions::Average::keep;
    step.average_momentum = t == 1 ? 0.0F : 0.75F;
  });
}

TEST(Update, DoesWhatAllRulesHaveInCommon) {
  expect_common_options(SgdStep{.learning_rate = 0.1F, .momentum = 0.9F});
  expect_common_options(RmspropStep{.learning_rate = 0.01F, .epsilon = 1e-3F});
}

TEST(Update, LetsNanThroughTheClipping) {
  Problem problem(1, 0, 1);
  problem.gradients[0][0] = std::numeric_limits<float>::quiet_NaN();
  OptimizerStep step(SgdStep{});
  step.clip_value = 1;
  problem.update(step, 0, 1);
  EXPECT_TRUE(std::isnan(problem.parameters[0][0]));
}

TEST(SquaredNorm, IsTheSameOnAnyNumberOfThreads) {
  for (const std::int64_t n : {0, 1, 7, 16384, 100'001}) {
    const std::vector<float> x = random_tensor({n}, 3).to_vector<float>();
    double expected = 0;
    for (const float value : x) expected += static_cast<double>(value) * static_cast<double>(value);
    const double once = kernels::run_on_cpu(kernels::SquaredNorm{x.data(), n});
    EXPECT_NEAR(once, expected, 1e-15 * static_cast<double>(n) * expected + 1e-300);
    const ComputeThreadsScope three(3);
    EXPECT_EQ(kernels::run_on_cpu(kernels::SquaredNorm{x.data(), n}), once);
  }
}

TEST(Adam, MovesEveryParameterByTheLearningRateInTheFirstStep) {
  Problem problem(1, 2, 100);
  problem.gradients[0].assign(100, 3.0F);
  const std::vector<float> start = problem.parameters[0];
  problem.update(AdamStep{.learning_rate = 0.25F}, 0, 100);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_NEAR(static_cast<double>(start[i] - problem.parameters[0][i]), 0.25, tolerance(DType::f32, 1, 1));
}

void expect_bits_of_any_cut(const OptimizerStep& step, std::int64_t n = 100'001) {
  const auto slots = static_cast<std::size_t>(state_slots(step));
  Problem whole(3, slots, n);
  {
    const ComputeThreadsScope one(1);
    whole.update(step, 0, n);
  }
  Problem cut = Problem(3, slots, n);
  const std::vector<std::int64_t> borders{0, 1, 1030, n / 2, n};
  for (std::size_t i = 1; i < borders.size(); ++i) cut.update(step, borders[i - 1], borders[i]);
  Problem threaded = Problem(3, slots, n);
  {
    const ComputeThreadsScope three(3);
    threaded.update(step, 0, n);
  }
  EXPECT_EQ(whole.parameters, cut.parameters);
  EXPECT_EQ(whole.state, cut.state);
  EXPECT_EQ(whole.parameters, threaded.parameters);
  EXPECT_EQ(whole.state, threaded.state);
}

TEST(Update, SameBitsHoweverTheRangeIsCut) {
  expect_bits_of_any_cut(SgdStep{});
  expect_bits_of_any_cut(SgdStep{.momentum = 0.9F, .nesterov = true});
  expect_bits_of_any_cut(AdamStep{.t = 3});
  expect_bits_of_any_cut(AdamStep{.t = 3}, 1'000'001);  // the whole is larger than the caches, its parts are not
  OptimizerStep averaged(RmspropStep{.momentum = 0.5F, .centered = true});
  averaged.average = OptimizerStep::Average::keep;
  expect_bits_of_any_cut(averaged);
}

TEST(Update, ErrorsNameWhatIsMissing) {
  EXPECT_EQ(error_of<InvalidArgument>([] { Problem(2, 1, 3).update(AdamStep{}, 0, 3); }),
            "this update keeps 2 state slots for a parameter, got 1");
  EXPECT_EQ(error_of<InvalidArgument>([] { Problem(2, 0, 3).update(SgdStep{.momentum = 0.9F}, 0, 3); }),
            "this update keeps 1 state slots for a parameter, got 0");
  EXPECT_EQ(error_of<InvalidArgument>([] { Problem(2, 2, 3).update(AdamStep{.t = 0}, 0, 3); }),
            "steps are counted from 1, got step 0");
}

}  // namespace
}  // namespace lockstep::test
