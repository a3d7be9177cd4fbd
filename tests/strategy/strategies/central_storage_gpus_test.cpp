#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/pretend_gpu/pretend_cuda.h>
#include <support/replicas.h>

#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/strategy/reduce/reducer.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>

// Variables on a GPU without a replica.

namespace lockstep {
namespace {

using testing::Each;

class CentralStorageOnGpus : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Replicas, CentralStorageOnGpus, testing::Values(1, 2, 3));

TEST_P(CentralStorageOnGpus, OrdersUpdatesWithOtherUsesOfTheVariables) {
  const int replicas = GetParam();
  const CentralStorageStrategy strategy(logical_gpus(replicas), {.parameter_device = logical_gpus(5).back()});
  const Variable v = strategy.scope([] { return test::variable_of("v", Tensor::zeros({37})); });
  GradientReducer reducer({v}, strategy.devices());
  const auto step = [&] {
    strategy.run([&] {
      const ReplicaContext context = get_replica_context();
      reducer.load(context, std::vector<DenseOrSparse>(1, Tensor::full({37}, 2)));
      reducer.apply(context, [](const UpdateViews& views) {
        launch(kernels::Update{SgdStep{.learning_rate = 0.5F}, views});
      });
    });
  };
  const test::DeferredWork deferred;
  v.assign(100);
  step();
  EXPECT_THAT(v.value().to_vector<float>(), Each(100 - replicas)) << "after the assignment, before the read";
  step();
  v.assign(7);
  EXPECT_THAT(strategy.run([&] { return v.value().to_vector<float>(); }).local_results(), Each(Each(7)));
  EXPECT_THAT(v.value().to_vector<float>(), Each(7)) << "the update came before";
}

TEST(CentralStorageReach, NeedReplicasThatReachTheVariables) {
  std::vector<std::vector<int>> peers(8);
  peers[0] = {1};
  peers[1] = {0};
  test::pretend_cuda()->set_peers(peers);
  const std::vector<LogicalDevice> gpus = logical_gpus(3);
  EXPECT_ERROR(Unsupported, "GPU:0 cannot access that of GPU:2: choose another parameter_device",
               CentralStorageStrategy({gpus[0], gpus[1]}, {.parameter_device = gpus[2]}));
  EXPECT_NO_THROW(CentralStorageStrategy({gpus[0]}, {.parameter_device = gpus[1]}));
  test::pretend_cuda()->set_peers({});
}

}  // namespace
}  // namespace lockstep
