#include <gtest/gtest.h>
#include <support/devices.h>
#include <support/pretend_gpu/pretend_cuda.h>
#include <tools/cli/speed.h>

#include <lockstep/models/layers/dense.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep::cli {
namespace {

constexpr std::int64_t batch = 4;

/// Trains a cheap model that takes the MLP's examples.
MeasuredSteps train(int replicas, std::int64_t steps) {
  Model model = MirroredStrategy(test::devices(replicas)).scope([] {
    const Symbol x = Input({8000});
    return Model(x, Dense({.units = 1, .activation = Activation::sigmoid})(x));
  });
  model.compile(make_usual_optimizer(ModelKind::mlp), make_loss(ModelKind::mlp));
  return train_at_speed(model, ModelKind::mlp, {.global_batch = batch, .warmup = 1, .steps = steps});
}

// With four replicas, two share one of the three GPUs.
TEST(Speed, ExamplesAreCopiedToTheGpusOnce) {
  test::PretendCuda& cuda = *test::pretend_cuda();
  for (const int replicas : {1, 2, 4}) {
    const auto copied_by = [&](std::int64_t steps) {
      cuda.take_submissions();
      train(replicas, steps);
      return cuda.take_submissions().from_host.bytes;
    };
    const std::int64_t at_first = copied_by(1);
    EXPECT_GE(at_first, batch * 8000 * static_cast<std::int64_t>(sizeof(float)));
    EXPECT_EQ(copied_by(5), at_first) << replicas;
  }
}

TEST(Speed, TheHostsPartIsWithinTheStep) {
  for (const StepReport& step : train(2, 3).measured) {
    EXPECT_GT(step.host_ms, 0);
    EXPECT_LT(step.host_ms, step.step_ms);
  }
}

}  // namespace
}  // namespace lockstep::cli
