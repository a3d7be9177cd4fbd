#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>
#include <lockstep/runtime/memory/allocator.h>

namespace lockstep {
namespace {

using test::error_of;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Two variables with given gradients on three replicas; one replica adds a given value to its gradient of the second.
class CheckNumerics : public testing::Test {
 protected:
  void step(int replica, float gradient) const {
    strategy_.run([&] {
      const Tensor good = Tensor::full({4}, 1);
      const Tensor bad = Tensor::from(std::vector{1.0F, 1.0F, gradient, 1.0F, gradient, 1.0F}, {2, 3});
      const std::vector<Tensor> gradients{good, test::this_replica() == replica ? bad : Tensor::full({2, 3}, 1)};
      optimizer_.apply_gradients(gradients, variables_);
    });
  }
  std::vector<std::vector<float>> values() const {
    return {variables_[0].value().to_vector<float>(), variables_[1].value().to_vector<float>()};
  }

  const MirroredStrategy strategy_ = test::mirrored(3);
  const std::vector<Variable> variables_ = strategy_.scope([] {
    return std::vector{test::variable_of("dense/kernel", Tensor::zeros({4})),
                       test::variable_of("output/kernel", Tensor::zeros({2, 3}))};
  });
  const SGD optimizer_{{.learning_rate = 1}};
};

TEST_F(CheckNumerics, NamesReplicaStepVariableAndElementAndUpdatesNothing) {
  optimizer_.check_numerics();
  step(1, 1);
  step(1, 1);
  const auto before = values();
  EXPECT_THAT(error_of<NumericError>([&] { step(1, std::nanf("")); }),
              AllOf(HasSubstr("replica 1 ("),
                    EndsWith("): step 2: the gradient of 'output/kernel' (2, 3) is nan at element 2")));
  EXPECT_THAT(error_of<NumericError>([&] { step(2, -infinity); }),
              AllOf(HasSubstr("replica 2 ("), EndsWith("is -inf at element 2")));
  EXPECT_EQ(values(), before);
  step(1, std::numeric_limits<float>::max());  // large, but finite
  EXPECT_EQ(optimizer_.iterations(), 3);
}

TEST_F(CheckNumerics, IsOffUnlessAskedForAndCanBeSwitchedOffAgain) {
  step(1, std::nanf(""));
  optimizer_.check_numerics();
  EXPECT_THROW(step(1, std::nanf("")), NumericError);
  optimizer_.check_numerics(false);
  step(1, std::nanf(""));
  EXPECT_EQ(optimizer_.iterations(), 2);
  EXPECT_ERROR(LogicError, "inside a replica", strategy_.run([&] { optimizer_.check_numerics(); }));
}

TEST_F(CheckNumerics, AsksTheSystemForNoMemoryAfterWarmUp) {
  optimizer_.check_numerics();
  const auto allocations = [&] {
    std::uint64_t total = 0;
    for (const LogicalDevice& device : strategy_.devices()) total += allocator(device).stats().system_allocations;
    return total;
  };
  for (int i = 0; i < 3; ++i) step(1, 1);
  const std::uint64_t warm = allocations();
  for (int i = 0; i < 5; ++i) step(1, 1);
  EXPECT_EQ(allocations(), warm);
}

TEST(CheckNumericsOfRows, NamesTheTable) {
  const MirroredStrategy strategy = test::mirrored(2);
  const std::vector<Variable> table = strategy.scope([] {
    return std::vector{test::variable_of("embedding/embeddings", Tensor::zeros({5, 2}))};
  });
  const SGD optimizer({.learning_rate = 1});
  optimizer.check_numerics();
  const auto step = [&](float factor) {
    strategy.run([&] {
      GradientTape tape;
      const Tensor rows = embedding_lookup(table[0].value(), Tensor::from(std::vector<std::int64_t>{3, 1}, {2}));
      optimizer.minimize(tape, sum(rows * Tensor::full({2, 2}, test::this_replica() == 0 ? factor : 1)), table);
    });
  };
  step(1);
  EXPECT_THAT(
      error_of<NumericError>([&] { step(infinity); }),
      AllOf(HasSubstr("replica 0 ("), HasSubstr("step 1: the gradient of 'embedding/embeddings' (5, 2) is inf")));
}

/// If a NaN passes back through several layers, the error names the one closest to its origin.
TEST(CheckNumericsInFit, NamesTheLayerNextToTheCause) {
  Model model = test::small_model(test::mirrored(2));
  const Dataset data = test::SmallProblem(24).dataset().batch(6);
  const Adam optimizer({.learning_rate = 0.01});
  optimizer.check_numerics();
  model.compile(optimizer, SparseCategoricalCrossentropy{{.from_logits = true}});
  FitOptions options{.epochs = 2};
  options.callbacks.push_back(std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_train_batch_end = [](Model& fitted, const StepReport& report) {
        if (report.step == 4) fitted.variables().back().assign(Tensor::full({3}, std::nan("")));
      }}));
  const std::string last = model.variables()[2].name();
  EXPECT_THAT(error_of<NumericError>([&] { model.fit(data, options); }),
              AllOf(HasSubstr("step 5: "), HasSubstr(last.substr(0, last.find('/')))));
}

}  // namespace
}  // namespace lockstep
