#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/reduce/reducer.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>

namespace lockstep {
namespace {

using test::this_replica;

class CentralStorage : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const float n_ = static_cast<float>(replicas_);
  const CentralStorageStrategy strategy_{logical_cpus(replicas_)};

  Variable scalar(Aggregation aggregation, Synchronization synchronization = Synchronization::automatic) const {
    return strategy_.scope([&] {
      return Variable({.name = "v",
                       .shape = {},
                       .initializer = [](const Tensor& out) { copy(Tensor::zeros({}), out); },
                       .synchronization = synchronization,
                       .aggregation = aggregation});
    });
  }
};

// semantics 10.3: one copy on CPU 0
TEST_P(CentralStorage, HasOneCopyThatEveryReplicaReads) {
  const Variable v = scalar(Aggregation::none);
  ASSERT_EQ(v.state().copies().size(), 1U);
  EXPECT_EQ(v.state().copies()[0].device().name(), "CPU:0");
  v.assign(4);
  EXPECT_THAT(strategy_.run([&] { return v.value().item<float>(); }).local_results(), testing::Each(4));
}

// semantics 10.3: needs an aggregation; on_read is ignored
TEST_P(CentralStorage, CombinesWhatReplicasAssignOnce) {
  const float sum = n_ * (n_ - 1) / 2;
  const auto result = [&](Aggregation aggregation, Synchronization synchronization) {
    const Variable v = scalar(aggregation, synchronization);
    strategy_.run([&] { v.assign_add(Tensor::full({}, this_replica())); });
    return v.value().item<float>();
  };
  for (const Synchronization any : {Synchronization::on_write, Synchronization::on_read}) {
    EXPECT_EQ(result(Aggregation::sum, any), sum);
    EXPECT_EQ(result(Aggregation::mean, any), sum / n_);
    EXPECT_EQ(result(Aggregation::only_first_replica, any), 0);
    EXPECT_ERROR(InvalidArgument, "must specify an aggregation", result(Aggregation::none, any));
  }
  const Variable counted = scalar(Aggregation::mean);
  strategy_.run([&] { counted.assign_add(0.1); });
  EXPECT_EQ(counted.value().item<float>(), 0.1F) << "a number is added once";
}

// semantics 10.3
TEST_P(CentralStorage, UpdateRunsOnce) {
  const Variable v = scalar(Aggregation::none);
  int calls = 0;
  strategy_.update(v, [&](const Variable& own) {
    ++calls;
    own.assign_add(1);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(v.value().item<float>(), 1);
}

// The gradients of all replicas are applied to the single copy, as to every copy of a mirrored variable.
TEST_P(CentralStorage, TrainsLikeMirrored) {
  const auto trained = [&](const Strategy& strategy) {
    const Variable v = strategy.scope([] { return test::variable_of("v", test::random_tensor({37}, 3)); });
    GradientReducer reducer({v}, strategy.devices());
    const UpdateFn update = [](const UpdateViews& views) {
      launch(kernels::Update{SgdStep{.learning_rate = 0.5F}, views});
    };
    strategy.run([&] {
      const ReplicaContext context = get_replica_context();
      const Tensor gradient = test::random_tensor({37}, static_cast<std::uint64_t>(10 + this_replica()));
      reducer.load(context, std::vector<DenseOrSparse>(1, gradient));
      reducer.apply(context, update);
    });
    return v.value();
  };
  test::expect_same_bits(trained(strategy_), trained(test::mirrored(replicas_)));
}

INSTANTIATE_TEST_SUITE_P(Replicas, CentralStorage, testing::ValuesIn(test::replica_counts));

// semantics 10.3: a chosen device
TEST(CentralStorageStrategy, KeepsVariablesWhereAsked) {
  const auto cpus = logical_cpus(3);
  const CentralStorageStrategy strategy({cpus[0], cpus[1]}, {.parameter_device = cpus[2]});
  const Variable v = strategy.scope([] { return test::variable_of("v", Tensor::zeros({1})); });
  EXPECT_EQ(v.state().copies()[0].device(), cpus[2]);
}

// semantics 10.3: the device if only one
TEST(CentralStorageStrategy, OfOneDeviceKeepsThemThere) {
  const CentralStorageStrategy strategy({logical_cpus(3)[2]});
  const Variable v = strategy.scope([] { return test::variable_of("v", Tensor::zeros({1})); });
  EXPECT_EQ(v.state().copies()[0].device().name(), "CPU:2");
}

// semantics 10.3: sparse values are joined and applied once
TEST(CentralStorageStrategy, ScattersTheReplicasRowsIntoTheOneCopy) {
  const CentralStorageStrategy strategy(logical_cpus(2));
  const Variable v = strategy.scope([] {
    return Variable({.name = "table",
                     .shape = {3},
                     .initializer = [](const Tensor& out) { copy(Tensor::zeros({3}), out); },
                     .aggregation = Aggregation::sum});
  });
  strategy.run([&] {
    v.scatter_add({Tensor::full({2}, 1), Tensor::from<std::int64_t>({this_replica(), this_replica() + 1}, {2}), {3}});
  });
  EXPECT_THAT(v.value().to_vector<float>(), testing::ElementsAre(1, 2, 1));
}

// semantics 10.3: TensorFlow's crashes on input options
TEST(CentralStorageStrategy, TakesInputOptions) {
  const CentralStorageStrategy strategy(logical_cpus(2));
  const Dataset rows = Dataset::from_tensors(Tensor::zeros({5})).batch(4);
  EXPECT_EQ(strategy.distribute(rows, {.per_replica_buffer_size = 0}).size(), 2);
}

// semantics 2.13
TEST(CentralStorageStrategy, ACloneKeepsItsVariablesOnTheSameDevice) {
  const auto cpus = logical_cpus(3);
  const CentralStorageStrategy strategy({cpus[0], cpus[1]}, {.parameter_device = cpus[2]});
  const Strategy clone = strategy.clone();
  EXPECT_FALSE(clone == strategy);
  EXPECT_EQ(clone.devices(), strategy.devices());
  const Variable v = clone.scope([] { return test::variable_of("v", Tensor::zeros({1})); });
  EXPECT_EQ(v.state().copies()[0].device(), cpus[2]);
}

// Kernels of a CPU cannot access the memory of a GPU, whatever the number of replicas.
TEST(CentralStorageStrategy, RefusesAParameterDeviceOfAnotherKind) {
  const LogicalDevice gpu{DeviceKind::gpu, 0};
  for (const int replicas : {1, 2})
    EXPECT_ERROR(Unsupported, "parameter_device must be a CPU",
                 CentralStorageStrategy(logical_cpus(replicas), {.parameter_device = gpu}));
}

// semantics 10.3: TensorFlow accepts duplicates
TEST(CentralStorageStrategy, RefusesADeviceTwice) {
  const auto cpu = logical_cpus(1)[0];
  EXPECT_ERROR(InvalidArgument, "CPU:0 is listed twice", CentralStorageStrategy({cpu, cpu}));
}

}  // namespace
}  // namespace lockstep
