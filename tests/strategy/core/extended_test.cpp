#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/core/extended.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>

// Functions that TensorFlow has under `strategy.extended`.

namespace lockstep {
namespace {

using test::mirrored;
using testing::Each;
using testing::ElementsAre;

std::vector<std::string> devices_of(const PerReplica<Tensor>& values) {
  return values.transform([](const Tensor& value) { return value.device().name(); }).local_results();
}

std::vector<float> numbers_of(const PerReplica<Tensor>& values) {
  return values.transform([](const Tensor& value) { return value.item<float>(); }).local_results();
}

class Extended : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const float n_ = static_cast<float>(replicas_);
  const MirroredStrategy strategy_ = mirrored(replicas_);
  const StrategyExtended extended_ = strategy_.extended();
  const Variable v_ = strategy_.scope([] { return test::variable_of("v", Tensor::full({}, 1)); });
  /// The value d on replica d.
  const PerReplica<Tensor> ids_ = test::per_replica(replicas_, [](int replica) { return Tensor::full({}, replica); });
  const PerReplica<Tensor> next_ids_ =
      test::per_replica(replicas_, [](int replica) { return Tensor::full({}, replica + 1); });
};

// semantics 2.11, 7.1: the result on every destination: one device, several, a tensor's, a variable's
// TF case 40: testReductionAndBroadcast; every pair of destinations through batch_reduce_to gives the same
TEST_P(Extended, ReducesToEveryKindOfDestination) {
  const Tensor on_cpu_3 = Tensor::empty({1}, DType::f32, logical_cpus(4)[3]);
  const std::vector<Destinations> destinations{"CPU:2", std::vector<std::string>{"CPU:1", "CPU:0"}, on_cpu_3, v_,
                                               strategy_.devices()};
  std::vector<std::string> all;
  for (const LogicalDevice& device : strategy_.devices()) all.push_back(device.name());
  const std::vector<std::vector<std::string>> names{{"CPU:2"}, {"CPU:1", "CPU:0"}, {"CPU:3"}, all, all};
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
    const float first = (op == ReduceOp::sum ? n_ : 1) * (n_ - 1) / 2;
    const float second = first + (op == ReduceOp::sum ? n_ : 1);
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      const auto reduced = extended_.reduce_to(op, ids_, destinations[i]);
      EXPECT_EQ(devices_of(reduced), names[i]);
      EXPECT_THAT(numbers_of(reduced), Each(first));
      for (std::size_t j = 0; j < destinations.size(); ++j) {
        const auto both = extended_.batch_reduce_to(op, {{ids_, destinations[i]}, {next_ids_, destinations[j]}});
        EXPECT_EQ(devices_of(both[0]), names[i]);
        EXPECT_EQ(devices_of(both[1]), names[j]);
        EXPECT_THAT(numbers_of(both[0]), Each(first));
        EXPECT_THAT(numbers_of(both[1]), Each(second));
      }
    }
  }
}

// semantics 2.11: TensorFlow refuses int32 and float in one batch
TEST_P(Extended, ReducesABatchOfSeveralDtypesAndShapes) {
  const auto whole = test::per_replica(replicas_, [](int replica) { return Tensor::full({2}, replica, DType::i32); });
  const auto reduced = extended_.batch_reduce_to("SUM", {{whole, v_}, {ids_, v_}});
  for (int replica = 0; replica < replicas_; ++replica) {
    EXPECT_THAT(reduced[0][replica].to_vector<int>(),
                ElementsAre(reduced[1][replica].item<float>(), reduced[1][replica].item<float>()));
    EXPECT_EQ(reduced[1][replica].item<float>(), n_ * (n_ - 1) / 2);
  }
}

// semantics 2.10, 2.11: what is reduced to a variable is an argument for its update
TEST_P(Extended, WhatIsReducedToAVariableUpdatesIt) {
  const auto results = strategy_.update(
      v_,
      [](const Variable& own, const Tensor& value) {
        EXPECT_EQ(value.device(), own.value().device());
        own.assign_add(value);
        return own.value().item<float>();
      },
      extended_.reduce_to(ReduceOp::sum, next_ids_, v_));
  EXPECT_THAT(results.local_results(), Each(1 + n_ * (n_ + 1) / 2));
}

// TF case 29: ops by name
TEST_P(Extended, TakesOpsByName) {
  for (const char* mean : {"mean", "MEAN"})
    EXPECT_THAT(numbers_of(extended_.reduce_to(mean, ids_, "CPU:0")), Each((n_ - 1) / 2));
  for (const char* sum : {"sum", "SUM"})
    EXPECT_THAT(numbers_of(extended_.batch_reduce_to(sum, {{ids_, "CPU:0"}})[0]), Each(n_ * (n_ - 1) / 2));
  EXPECT_ERROR(InvalidArgument, "'total'", extended_.reduce_to("total", ids_, "CPU:0"));
}

// TF case 43: sparse; semantics 7.4: joined in replica order, the mean divides the values
TEST_P(Extended, ReducesIndexedSlices) {
  const auto slices = test::per_replica(replicas_, [](int replica) {
    const std::int64_t rows = replica % 2 + 1;
    return IndexedSlices{Tensor::full({rows, 1}, replica + 1), Tensor::full({rows}, replica, DType::i64), {9, 1}};
  });
  std::vector<float> values;
  std::vector<std::int64_t> indices;
  for (int replica = 0; replica < replicas_; ++replica)
    for (int row = 0; row < replica % 2 + 1; ++row) {
      values.push_back(static_cast<float>(replica + 1));
      indices.push_back(replica);
    }
  const auto expect = [&](const IndexedSlices& reduced, float divisor) {
    EXPECT_EQ(reduced.dense_shape, (Shape{9, 1}));
    EXPECT_EQ(reduced.indices.to_vector<std::int64_t>(), indices);
    std::vector<float> expected = values;
    for (float& value : expected) value /= divisor;
    EXPECT_EQ(reduced.values.to_vector<float>(), expected);
  };
  for (const auto& [op, divisor] : {std::pair("SUM", 1.0F), std::pair("MEAN", n_)}) {
    expect(strategy_.reduce(op, slices), divisor);
    const auto on_two = extended_.reduce_to(op, slices, {"CPU:1", "CPU:0"});
    EXPECT_EQ(on_two[0].values.device().name(), "CPU:1");
    for (const IndexedSlices& copy : on_two.local_results()) expect(copy, divisor);
    const auto all = extended_.batch_reduce_to(op, {{slices, v_}, {slices, "CPU:0"}});
    ASSERT_EQ(all[0].size(), replicas_);
    for (const IndexedSlices& copy : all[0].local_results()) expect(copy, divisor);
    expect(all[1][0], divisor);
  }
  EXPECT_ERROR(Unsupported, "reduce of IndexedSlices is a sum or a mean, not max", strategy_.reduce("max", slices));
}

// TF case 47: dense where some replica's value is dense
TEST_P(Extended, ReducesDenseAndSparseTogether) {
  const auto mixed = test::per_replica(replicas_, [](int replica) -> DenseOrSparse {
    if (replica > 0) return Tensor::full({2}, replica);
    return IndexedSlices{Tensor::full({1}, 5), Tensor::full({1}, 1, DType::i64), {2}};
  });
  const DenseOrSparse reduced = strategy_.reduce("SUM", mixed);
  const float others = n_ * (n_ - 1) / 2;
  if (replicas_ > 1) {
    EXPECT_THAT(std::get<Tensor>(reduced).to_vector<float>(), ElementsAre(others, others + 5));
  } else {
    EXPECT_THAT(std::get<IndexedSlices>(reduced).values.to_vector<float>(), ElementsAre(5));
  }
  const auto copies = extended_.batch_reduce_to("SUM", {{mixed, v_}});
  EXPECT_EQ(copies[0].size(), replicas_);
}

// TF case 30: testReduceDistributedVariable, the mean of a mirrored 1.0 through reduce and batch_reduce
TEST_P(Extended, ReducesAVariablesCopiesToPlainTensors) {
  const PerReplica<Tensor> copies = strategy_.local_results(v_);
  const auto reduced = extended_.batch_reduce_to("mean", {{copies, v_}, {copies, v_}});
  for (const auto& result : reduced) {
    EXPECT_THAT(numbers_of(result), Each(1));
    for (int replica = 0; replica < replicas_; ++replica) {
      EXPECT_NE(result[replica].raw_data(), copies[replica].raw_data());
      EXPECT_FALSE(result[replica].is_parameter());
    }
  }
}

TEST_P(Extended, TakesAListOfNamesAsDestinations) {
  EXPECT_EQ(devices_of(extended_.reduce_to("SUM", ids_, {"CPU:0", "CPU:1"})),
            (std::vector<std::string>{"CPU:0", "CPU:1"}));
  EXPECT_EQ(devices_of(extended_.reduce_to("SUM", ids_, {"CPU:1"})), (std::vector<std::string>{"CPU:1"}));
  const std::vector<LogicalDevice> cpus = logical_cpus(2);
  EXPECT_EQ(devices_of(extended_.reduce_to("SUM", ids_, {cpus[1], cpus[0]})),
            (std::vector<std::string>{"CPU:1", "CPU:0"}));
  const CentralStorageStrategy by_name({"CPU:0", "CPU:1"});
  EXPECT_EQ(by_name.num_replicas_in_sync(), 2);
}

// semantics 2.12, 7.1: broadcast_to. TF case 40: broadcast of 1.0
TEST_P(Extended, BroadcastsCopies) {
  const Tensor one = Tensor::full({}, 1);
  const auto copies = extended_.broadcast_to(one, v_);
  ASSERT_EQ(copies.size(), replicas_);
  for (int replica = 0; replica < replicas_; ++replica) {
    EXPECT_EQ(copies[replica].device(), strategy_.devices()[static_cast<std::size_t>(replica)]);
    EXPECT_EQ(copies[replica].item<float>(), 1);
    EXPECT_NE(copies[replica].raw_data(), one.raw_data());
  }
}

// semantics 2.12: read_var, an aggregate in memory of its own
TEST_P(Extended, ReadsVariables) {
  const Variable total = strategy_.scope([] {
    return Variable({.name = "total",
                     .shape = {},
                     .initializer = [](const Tensor& out) { copy(Tensor::full({}, 3), out); },
                     .synchronization = Synchronization::on_read,
                     .aggregation = Aggregation::sum});
  });
  EXPECT_EQ(extended_.read_var(total).item<float>(), 3 * n_);
  const Tensor before = extended_.read_var(v_);
  v_.assign(8);
  EXPECT_EQ(before.item<float>(), 1);
  EXPECT_FALSE(before.is_parameter());
}

// semantics 2.12: value_container, from a copy to its variable, which the copy does not keep
TEST_P(Extended, FindsTheVariableOfACopy) {
  const auto read = strategy_.run([&] { return v_.value(); });
  for (const Tensor& copy : read.local_results()) EXPECT_EQ(extended_.value_container(copy), v_);
  Tensor left_over;
  {
    const Variable gone = strategy_.scope([] { return test::variable_of("gone", Tensor::zeros({2})); });
    left_over = gone.value();
    EXPECT_EQ(extended_.value_container(left_over), gone);
  }
  EXPECT_ERROR(InvalidArgument, "one of this strategy's variables, got f32 (2)", extended_.value_container(left_over));
  EXPECT_ERROR(InvalidArgument, "one of this strategy's variables", extended_.value_container(Tensor::zeros({1})));
}

// semantics 2.12: the devices; 12.20: a variable of another strategy
TEST_P(Extended, KnowsItsDevices) {
  EXPECT_EQ(extended_.worker_devices(), strategy_.devices());
  EXPECT_EQ(extended_.parameter_devices(), strategy_.devices());
  EXPECT_EQ(extended_.non_slot_devices({v_}), strategy_.devices());
  EXPECT_ERROR(InvalidArgument, "needs a variable", extended_.non_slot_devices({}));
  const Variable plain = test::variable_of("plain", Tensor::zeros({1}));
  EXPECT_ERROR(LogicError, "mixing different strategies: variable 'plain'", extended_.non_slot_devices({v_, plain}));
  const MirroredStrategy other = mirrored(replicas_);
  EXPECT_ERROR(LogicError, "mixing different strategies: variable 'v'", other.extended().non_slot_devices({v_}));
  EXPECT_ERROR(LogicError, "mixing different strategies: variable 'v'", other.update(v_, [](const Variable&) {}));
}

TEST_P(Extended, IsForOutsideReplicas) {
  const auto refused = [&](const char* function, const auto& call) {
    EXPECT_ERROR(LogicError, fmt::format("{}() was called inside a replica", function), strategy_.run([&] { call(); }));
  };
  refused("reduce_to", [&] { extended_.reduce_to("sum", ids_, "CPU:0"); });
  refused("batch_reduce_to", [&] { extended_.batch_reduce_to("sum", {{ids_, "CPU:0"}}); });
  refused("broadcast_to", [&] { extended_.broadcast_to(ids_[0], "CPU:0"); });
  refused("read_var", [&] { extended_.read_var(v_); });
}

INSTANTIATE_TEST_SUITE_P(Replicas, Extended, testing::ValuesIn(test::replica_counts));

// semantics 12.16: a destination of a wrong type is refused by the compiler
static_assert(!std::is_constructible_v<Destinations, int>);
static_assert(!std::is_constructible_v<Destinations, std::vector<Tensor>>);
static_assert(!std::is_constructible_v<Destinations, PerReplica<Tensor>>);
// semantics 12.16: a destination that is missing
TEST(DestinationErrors, SayWhatIsMissing) {
  EXPECT_ERROR(InvalidArgument, "must not be empty", Destinations{std::vector<LogicalDevice>()});
  EXPECT_ERROR(InvalidArgument, "got an undefined tensor", Destinations{Tensor()});
  EXPECT_ERROR(InvalidArgument, "got an undefined variable", Destinations{Variable()});
  EXPECT_ERROR(InvalidArgument, "'TPU:0' names no device", Destinations{"TPU:0"});
  EXPECT_ERROR(InvalidArgument, "at least one device", Destinations{std::vector<std::string>()});
}

TEST(ExtendedErrors, OfValuesAreReduces) {
  const MirroredStrategy strategy = mirrored(2);
  const PerReplica uneven(std::vector{Tensor::zeros({1}), Tensor::zeros({2})});
  EXPECT_ERROR(InvalidArgument, "replica 1 has f32 (2)", strategy.extended().reduce_to("sum", uneven, "CPU:0"));
  const PerReplica three(std::vector{Tensor::zeros({1}), Tensor::zeros({1}), Tensor::zeros({1})});
  EXPECT_ERROR(InvalidArgument, "values of 3 replicas", strategy.extended().reduce_to("sum", three, "CPU:0"));
  EXPECT_ERROR(InvalidArgument, "undefined", strategy.extended().broadcast_to(Tensor(), "CPU:0"));
}

// semantics 10.3: variables once, on the parameter device
TEST(ExtendedOfCentralStorage, HasOneParameterDevice) {
  const auto cpus = logical_cpus(3);
  const CentralStorageStrategy strategy({cpus[0], cpus[1]}, {.parameter_device = cpus[2]});
  const StrategyExtended extended = strategy.extended();
  EXPECT_THAT(extended.parameter_devices(), ElementsAre(cpus[2]));
  EXPECT_THAT(extended.worker_devices(), ElementsAre(cpus[0], cpus[1]));
  const Variable v = strategy.scope([] { return test::variable_of("v", Tensor::zeros({})); });
  EXPECT_THAT(extended.non_slot_devices({v}), ElementsAre(cpus[2]));
  const PerReplica values(std::vector{Tensor::full({}, 1), Tensor::full({}, 2)});
  const auto total = extended.reduce_to("sum", values, v);
  EXPECT_THAT(devices_of(total), ElementsAre("CPU:2"));
  EXPECT_THAT(numbers_of(total), ElementsAre(3));
}

}  // namespace
}  // namespace lockstep
