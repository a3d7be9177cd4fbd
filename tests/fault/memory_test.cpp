#include <limits>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/small_problem.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/verify.h>

#include "failing_new.h"

// One replica runs out of memory in a step: all replicas must end the step with that error, and the next step must
// work.

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();

/// A custom training loop over three replicas.
class Training {
 public:
  /// Runs one step; each replica calls `before` first.
  template <class Before>
  void step(const Before& before) const {
    strategy_.run(
        [&](const Batch& local) {
          before();
          GradientTape tape;
          const Tensor logits = model_(local.x(), Mode::train);
          const Tensor loss =
              sum(sparse_softmax_cross_entropy(logits, local.y())) / static_cast<double>(batch_.global_size());
          optimizer_.minimize(tape, loss, model_.trainable_variables());
        },
        batch_);
  }
  void step() const {
    step([] {});
  }
  /// The weights; throws unless all copies of each are equal.
  std::vector<std::vector<double>> weights() const {
    verify_mirrored(model_.variables());
    return test::weights_of(model_);
  }
  std::size_t bytes_in_use() const {
    std::size_t bytes = 0;
    for (const LogicalDevice& device : strategy_.devices()) bytes += allocator(device).stats().bytes_in_use;
    return bytes;
  }
  const MirroredStrategy& strategy() const { return strategy_; }

 private:
  const MirroredStrategy strategy_ = test::mirrored(3);
  const Model model_ = test::small_model(strategy_);
  const Adam optimizer_{{.learning_rate = 0.05}};
  const DistributedBatch batch_ =
      strategy_.distribute(test::SmallProblem(12).dataset().batch(12)).epoch().next().value();
};

/// The replica that runs out of memory, and how many of its allocations fail in a row.
struct Shortage {
  int replica;
  std::int64_t failures;

  std::string text() const {
    const std::string times = failures == all ? "UntilTheEnd" : fmt::format("{}Times", failures);
    return fmt::format("Replica{}Fails{}", replica, times);
  }
  friend void PrintTo(const Shortage& shortage, std::ostream* out) { *out << shortage.text(); }
};

class OutOfMemoryInAStep : public testing::TestWithParam<Shortage> {
 protected:
  /// Runs a step in which allocation `first` fails. Returns false if the step makes fewer allocations.
  bool fails_at(const Training& training, std::int64_t first) const {
    bool thrown = false;
    try {
      training.step([&] {
        if (test::this_replica() == GetParam().replica)
          test::fail_allocations_of_this_thread(first, GetParam().failures);
      });
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    test::stop_failing_allocations();
    EXPECT_EQ(thrown, test::an_allocation_has_failed());
    return thrown;
  }
};

TEST_P(OutOfMemoryInAStep, AtAnyAllocationEndsItOnAllReplicasAndNothingHasChanged) {
  const Training harmed;
  const Training unharmed;
  for (int warm_up = 0; warm_up < 2; ++warm_up) {
    harmed.step();
    unharmed.step();
  }
  const auto before = harmed.weights();
  const std::size_t bytes = harmed.bytes_in_use();
  std::int64_t first = 1;
  for (; fails_at(harmed, first); ++first) ASSERT_EQ(harmed.weights(), before) << "at allocation " << first;
  EXPECT_GT(first, 20) << "a step allocates more often than that";
  unharmed.step();
  EXPECT_EQ(harmed.weights(), unharmed.weights()) << "the last try, in which no allocation failed";
  harmed.step();
  unharmed.step();
  EXPECT_EQ(harmed.weights(), unharmed.weights());
  EXPECT_EQ(harmed.bytes_in_use(), bytes);
}

/// The failed step may update only some variables, but the same on all replicas.
TEST_P(OutOfMemoryInAStep, AtAnyAllocationOfTheFirstStepLeavesEqualCopiesAndTheNextOneWorks) {
  std::int64_t first = 1;
  for (bool failed = true; failed; first += 3) {
    const Training harmed;
    failed = fails_at(harmed, first);
    EXPECT_NO_THROW((void)harmed.weights()) << "at allocation " << first;
    const auto before = harmed.weights();
    harmed.step();
    EXPECT_NE(harmed.weights(), before) << "at allocation " << first;
    if (HasFailure()) return;
  }
  EXPECT_GT(first, 60) << "a first step allocates more often than that";
}

INSTANTIATE_TEST_SUITE_P(Fault, OutOfMemoryInAStep,
                         testing::Values(Shortage{0, 1}, Shortage{1, 1}, Shortage{1, all}, Shortage{2, 3}),
                         [](const auto& info) { return info.param.text(); });

/// If a device's memory is limited, the error names the device.
TEST(DeviceMemoryOfAReplica, ThatIsUsedUpEndsTheStepAndTheNextSmallerOneWorks) {
  const MirroredStrategy strategy = test::mirrored(3);
  Model model = test::small_model(strategy);
  const auto fit = [&](std::int64_t examples) { model.fit(test::SmallProblem(examples).dataset().batch(examples)); };
  fit(12);
  CachingAllocator& second = allocator(strategy.devices()[1]);
  const std::size_t in_use = second.stats().bytes_in_use;
  second.set_memory_limit(second.stats().bytes_reserved + 1000);
  EXPECT_THAT(test::error_of<OutOfMemory>([&] { fit(120'000); }),
              AllOf(HasSubstr("replica 1 (CPU:1)"), HasSubstr("has no room for"), HasSubstr("limit")));
  EXPECT_EQ(second.stats().bytes_in_use, in_use);
  verify_mirrored(model.variables());
  fit(12);
  second.set_memory_limit(0);
  fit(120'000);
}

}  // namespace
}  // namespace lockstep
