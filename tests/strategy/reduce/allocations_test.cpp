#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/reduce/reducer.h>

namespace lockstep {
namespace {

// Trains a perceptron with a custom loop on two replicas, each with its own rows, using element-wise ops only: these
// run the project's own code on every thread.
class TrainingByHand : public testing::TestWithParam<CrossDeviceOps> {
 protected:
  const MirroredStrategy strategy_ = test::mirrored(2, GetParam());
  const std::vector<Variable> variables_ = strategy_.scope([] {
    return std::vector{test::variable_of("weights", test::random_tensor({30}, 1)),
                       test::variable_of("bias", Tensor::zeros({1}))};
  });
  GradientReducer reducer_{variables_, strategy_.devices(), {.slots = {0}}};

  void step(int number) {
    const Tensor x = test::random_tensor({64, 30}, 100U + number);
    const Tensor targets = test::random_tensor({64}, 200U + number, 0, 1);
    strategy_.run([&] {
      const ReplicaContext context = get_replica_context();
      const int first = 32 * context.replica_id_in_sync_group();
      GradientTape tape;
      const Tensor product = x.slice_view(0, first, first + 32) * variables_[0].value();
      const Tensor logits = sum(product, {1}) + variables_[1].value();
      const Tensor loss = sum(sigmoid_cross_entropy(logits, targets.slice_view(0, first, first + 32))) / 64.0;
      reducer_.backward(context, tape, loss);
      reducer_.apply(context, [](const UpdateViews& views) {
        launch(kernels::Update{SgdStep{.learning_rate = 0.1F, .momentum = 0.9F}, views});
      });
    });
  }

  std::uint64_t system_allocations() const {
    std::uint64_t total = 0;
    for (const LogicalDevice& device : strategy_.devices()) total += allocator(device).stats().system_allocations;
    return total;
  }
};

TEST_P(TrainingByHand, AsksTheSystemForNoMemoryAfterWarmUp) {
  for (int number = 0; number < 3; ++number) step(number);
  const std::uint64_t after_warm_up = system_allocations();
  for (int number = 3; number < 10; ++number) step(number);
  EXPECT_EQ(system_allocations(), after_warm_up);
}

TEST_P(TrainingByHand, GivesTheSameBitsAgain) {
  const auto run_again = [&] {
    for (int number = 0; number < 5; ++number) step(number);
    std::vector<std::vector<float>> weights;
    for (const Variable& variable : variables_) weights.push_back(variable.value().to_vector<float>());
    return weights;
  };
  std::vector<Tensor> start;
  for (const Variable& variable : variables_)
    start.push_back(Tensor::from(variable.value().to_vector<float>(), variable.shape()));
  const auto first = run_again();
  for (std::size_t i = 0; i < start.size(); ++i) variables_[i].assign(start[i]);
  for (std::size_t i = 0; i < variables_.size(); ++i) reducer_.set_state(i, 0, Tensor::zeros(variables_[i].shape()));
  EXPECT_EQ(run_again(), first);
}

INSTANTIATE_TEST_SUITE_P(All, TrainingByHand, testing::ValuesIn(test::host_cross_device_ops));

}  // namespace
}  // namespace lockstep
