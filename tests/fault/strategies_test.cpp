#include <gtest/gtest.h>
#include <support/small_problem.h>

#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>

#include "process_state.h"

namespace lockstep {
namespace {

/// Creates a strategy, trains for a step and destroys it.
void come_and_go(int number) {
  if (number % 5 == 4) {
    const CentralStorageStrategy strategy(logical_cpus(2));
    strategy.run([] { get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({3}, 1)); });
    return;
  }
  const MirroredStrategy strategy = test::mirrored(1 + number % 4);
  const Model model = test::small_model(strategy);
  const SGD optimizer({.learning_rate = 0.1});
  strategy.run([&] {
    GradientTape tape;
    const Tensor loss = sum(model(Tensor::full({2, 8}, 1), Mode::train));
    optimizer.minimize(tape, loss, model.trainable_variables());
  });
}

TEST(Strategies, AThousandOfThemComeAndGoAndLeaveNothing) {
  constexpr int all = 1000;
  constexpr int warm_up = 200;
  for (int i = 0; i < warm_up; ++i) come_and_go(i);
  const test::ProcessState before = test::process_state();
  for (int i = warm_up; i < all; ++i) come_and_go(i);
  const test::ProcessState after = test::process_state();
  fmt::print("{} strategies: {} KiB more, {} threads, {} open files\n", all - warm_up,
             (after.resident_bytes - before.resident_bytes) / 1024, after.threads, after.open_files);
  EXPECT_LT(after.threads - before.threads, 16);  // OpenMP starts and ends threads
  EXPECT_EQ(after.open_files, before.open_files);
  if (test::memory_is_meaningful) {
    EXPECT_LT(after.resident_bytes - before.resident_bytes, 1 << 20);
  }
}

}  // namespace
}  // namespace lockstep
