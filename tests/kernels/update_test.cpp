#include <cmath>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/update.h>
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

/// One optimizer's memory for R replicas.
struct Problem {
  Vectors gradients, parameters, state;

  Problem(std::size_t replicas, std::size_t slots, std::int64_t n)
      : gradients(random_vectors(replicas, n, 10)),
        parameters(replicas, random_vectors(1, n, 50)[0]),
        state(slots, std::vector<float>(static_cast<std::size_t>(n))) {}

  std::int64_t size() const { return static_cast<std::int64_t>(parameters[0].size()); }

  template <class Step>
  void update(const Step& step, std::int64_t begin, std::int64_t end) {
    const auto g = pointers<const float>(std::as_const(gradients), begin);
    const auto w = pointers<float>(parameters, begin);
    const auto s = pointers<float>(state, begin);
    backend(DeviceKind::cpu).update(step, UpdateViews{g, w, s, end - begin});
  }
};

double gradient_sum(const Problem& p, std::size_t i) {
  double sum = 0;
  for (const auto& g : p.gradients) sum += static_cast<double>(g[i]);
  return sum;
}

std::size_t slots_of(const SgdStep& step) { return step.momentum != 0 ? 1 : 0; }
std::size_t slots_of(const AdamStep&) { return 2; }

/// keras/src/optimizers/sgd.py, update_step, after the decoupled weight decay of base_optimizer.py.
double reference_step(const SgdStep& s, double w, double g, std::vector<double>& slots) {
  const auto rate = static_cast<double>(s.learning_rate);
  const auto momentum = static_cast<double>(s.momentum);
  w -= w * static_cast<double>(s.weight_decay) * rate;
  if (momentum == 0) return w - rate * g;
  slots[0] = slots[0] * momentum - g * rate;
  return s.nesterov ? w + slots[0] * momentum - g * rate : w + slots[0];
}

/// keras/src/optimizers/adam.py, update_step.
double reference_step(const AdamStep& s, double w, double g, std::vector<double>& slots) {
  const auto t = static_cast<double>(s.t);
  const double alpha =
      static_cast<double>(s.learning_rate) * std::sqrt(1 - std::pow(s.beta_2, t)) / (1 - std::pow(s.beta_1, t));
  slots[0] += (g - slots[0]) * (1 - s.beta_1);
  slots[1] += (g * g - slots[1]) * (1 - s.beta_2);
  return w - slots[0] * alpha / (std::sqrt(slots[1]) + static_cast<double>(s.epsilon));
}

/// `step_at(t)` gives the options of step t = 1, 2, ...
template <class StepAt>
void expect_reference(const StepAt& step_at) {
  const int steps = 5;
  for (const std::size_t replicas : {1U, 2U, 5U}) {
    for (const std::int64_t n : {0, 1, 1500}) {
      Problem problem(replicas, slots_of(step_at(1)), n);
      const std::vector<float> start = problem.parameters[0];
      for (int t = 1; t <= steps; ++t) problem.update(step_at(t), 0, n);
      for (std::size_t i = 0; i < start.size(); ++i) {
        auto w = static_cast<double>(start[i]);
        std::vector<double> slots(2);
        for (int t = 1; t <= steps; ++t) w = reference_step(step_at(t), w, gradient_sum(problem, i), slots);
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
  expect_reference([](int) { return SgdStep{.learning_rate = 0.1F, .weight_decay = 0.05F}; });
  expect_reference(
      [](int) { return SgdStep{.learning_rate = 0.1F, .momentum = 0.5F, .nesterov = true, .weight_decay = 0.05F}; });
}

TEST(Adam, FollowsKeras) {
  expect_reference([](int t) { return AdamStep{.learning_rate = 0.01F, .t = t}; });
  expect_reference([](int t) { return AdamStep{.beta_1 = 0.5, .beta_2 = 0.9, .epsilon = 1e-3F, .t = t}; });
}

TEST(Adam, MovesEveryParameterByTheLearningRateInTheFirstStep) {
  Problem problem(1, 2, 100);
  problem.gradients[0].assign(100, 3.0F);
  const std::vector<float> start = problem.parameters[0];
  problem.update(AdamStep{.learning_rate = 0.25F}, 0, 100);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_NEAR(static_cast<double>(start[i] - problem.parameters[0][i]), 0.25, tolerance(DType::f32, 1, 1));
}

template <class Step>
void expect_bits_of_any_cut(const Step& step) {
  const std::int64_t n = 100'001;
  Problem whole(3, slots_of(step), n);
  {
    const ComputeThreadsScope one(1);
    whole.update(step, 0, n);
  }
  Problem cut = Problem(3, slots_of(step), n);
  for (const auto& [begin, end] :
       {std::pair{0, 1}, std::pair{1, 1030}, std::pair{1030, 70'003}, std::pair{70'003, 100'001}})
    cut.update(step, begin, end);
  Problem threaded = Problem(3, slots_of(step), n);
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
  expect_bits_of_any_cut(SgdStep{.weight_decay = 0.1F});
  expect_bits_of_any_cut(SgdStep{.momentum = 0.9F, .nesterov = true});
  expect_bits_of_any_cut(AdamStep{.t = 3});
}

TEST(Update, ErrorsNameWhatIsMissing) {
  EXPECT_EQ(error_of<InvalidArgument>([] { Problem(2, 1, 3).update(AdamStep{}, 0, 3); }),
            "Adam keeps 2 state slots for a parameter, got 1");
  EXPECT_EQ(error_of<InvalidArgument>([] { Problem(2, 0, 3).update(SgdStep{.momentum = 0.9F}, 0, 3); }),
            "SGD keeps 1 state slots for a parameter, got 0");
  EXPECT_EQ(error_of<InvalidArgument>([] { Problem(2, 2, 3).update(AdamStep{.t = 0}, 0, 3); }),
            "Adam counts its steps from 1, got step 0");
}

TEST(BackendTable, NamesTheKindThatHasNoKernels) {
  EXPECT_THAT(error_of<Unsupported>([] { backend(DeviceKind::gpu); }), ::testing::HasSubstr("GPU"));
}

}  // namespace
}  // namespace lockstep::test
