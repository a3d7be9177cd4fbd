#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/strategy/core/variable.h>

// Assignments to variables, for each synchronization and aggregation, inside and outside replicas, for any number of
// replicas.

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr Synchronization syncs[] = {Synchronization::on_write, Synchronization::on_read};
constexpr Aggregation aggregations[] = {Aggregation::none, Aggregation::sum, Aggregation::mean,
                                        Aggregation::only_first_replica};

Variable scalar(const Strategy& strategy, Synchronization synchronization, Aggregation aggregation, double value = 0,
                DType dtype = DType::f32) {
  return strategy.scope([&] {
    return Variable({.name = "v",
                     .shape = {},
                     .initializer = [=](const Tensor& out) { copy(Tensor::full({}, value, dtype), out); },
                     .dtype = dtype,
                     .synchronization = synchronization,
                     .aggregation = aggregation});
  });
}

std::vector<float> copies_of(const Variable& v) {
  std::vector<float> values;
  for (const Tensor& own : v.state().copies()) values.push_back(own.to_vector<float>().front());
  return values;
}

Tensor number(double value) { return Tensor::full({}, value); }

class Assign : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const float n_ = static_cast<float>(replicas_);
  const MirroredStrategy strategy_ = mirrored(replicas_);
};

// TF case 60: testAssign*CrossDeviceContext; TF case 71: outside the scope. semantics 5.10
TEST_P(Assign, OutsideReplicasSetsAddsAndSubtractsInEveryCopy) {
  for (const Aggregation aggregation : aggregations) {
    const Variable v = scalar(strategy_, Synchronization::on_write, aggregation, 1);
    v.assign_add(6);
    EXPECT_THAT(copies_of(v), Each(7));
    v.assign_add(number(2));
    EXPECT_THAT(copies_of(v), Each(9));
    v.assign_sub(number(4));
    EXPECT_THAT(copies_of(v), Each(5));
    v.assign(3);
    EXPECT_THAT(copies_of(v), Each(3));
    EXPECT_EQ(v.value().item<float>(), 3);
  }
}

// TF case 59: testAssign*MirroredVarReplicaContext; TF case 63: testAggregationOnlyFirstReplica
TEST_P(Assign, OnWriteCombinesWhatReplicasAssign) {
  const float sum = n_ * (n_ - 1) / 2;
  const auto assigned = [&](Aggregation aggregation, double start, auto assign) {
    const Variable v = scalar(strategy_, Synchronization::on_write, aggregation, start);
    strategy_.run([&] { assign(v, number(this_replica())); });
    return copies_of(v);
  };
  const auto set = [](const Variable& v, const Tensor& x) { v.assign(x); };
  const auto add = [](const Variable& v, const Tensor& x) { v.assign_add(x); };
  const auto sub = [](const Variable& v, const Tensor& x) { v.assign_sub(x); };
  EXPECT_THAT(assigned(Aggregation::sum, 9, set), Each(sum));
  EXPECT_THAT(assigned(Aggregation::mean, 1, set), Each(sum / n_));
  EXPECT_THAT(assigned(Aggregation::mean, 1, add), Each(1 + sum / n_));
  EXPECT_THAT(assigned(Aggregation::mean, 5, sub), Each(5 - sum / n_));
  EXPECT_THAT(assigned(Aggregation::sum, 5, sub), Each(5 - sum));
  EXPECT_THAT(assigned(Aggregation::only_first_replica, 15, set), Each(0));
}

// semantics 5.14; differs from TensorFlow on purpose: there, replicas that assign to a variable without an aggregation
// diverge silently.
TEST_P(Assign, OnWriteWithoutAnAggregationTakesEqualValuesOnly) {
  const Variable v = scalar(strategy_, Synchronization::on_write, Aggregation::none, 1);
  strategy_.run([&] { v.assign(number(5)); });  // TF case 58
  EXPECT_THAT(copies_of(v), Each(5));
  strategy_.run([&] { v.assign_add(number(2)); });
  EXPECT_THAT(copies_of(v), Each(7));
  if (replicas_ == 1) return;
  EXPECT_ERROR(InvalidArgument, "'v' has no aggregation, and replicas 0 and 1 assign different values",
               strategy_.run([&] { v.assign(number(this_replica())); }));
  EXPECT_THAT(copies_of(v), Each(7)) << "nothing was written";
}

TEST_P(Assign, ANumberMustBeOneOfTheDtype) {
  const Variable count = scalar(strategy_, Synchronization::on_write, Aggregation::none, 1, DType::i64);
  EXPECT_ERROR(InvalidArgument, "variable 'v' is i64, which cannot represent 0.5", count.assign_add(0.5));
  EXPECT_ERROR(InvalidArgument, "cannot represent 0.5", strategy_.run([&] { count.assign_sub(0.5); }));
  const Variable byte = scalar(strategy_, Synchronization::on_read, Aggregation::only_first_replica, 1, DType::u8);
  EXPECT_ERROR(InvalidArgument, "variable 'v' is u8, which cannot represent -1", byte.assign(-1));
  EXPECT_ERROR(InvalidArgument, "cannot represent 256", strategy_.run([&] { byte.assign(256); }));
  EXPECT_THAT(copies_of(count), Each(1));
  EXPECT_THAT(copies_of(byte), Each(1));
}

// TF case 58: ..WithSum; TF case 59: with a single literal
TEST_P(Assign, ANumberIsTheSameOnEveryReplica) {
  for (const Aggregation aggregation : {Aggregation::none, Aggregation::mean, Aggregation::only_first_replica}) {
    const Variable v = scalar(strategy_, Synchronization::on_write, aggregation, 1);
    strategy_.run([&] { v.assign_add(5); });
    EXPECT_THAT(copies_of(v), Each(6));
    strategy_.run([&] { v.assign_sub(2); });
    EXPECT_THAT(copies_of(v), Each(4));
    strategy_.run([&] { v.assign(5); });
    EXPECT_THAT(copies_of(v), Each(5));
  }
  const Variable summed = scalar(strategy_, Synchronization::on_write, Aggregation::sum);
  EXPECT_ERROR(InvalidArgument, "'v' is aggregated by sum", strategy_.run([&] { summed.assign(5); }));
}

TEST_P(Assign, OnReadWritesTheReplicasOwnCopy) {
  for (const Aggregation aggregation : aggregations) {
    const Variable v = scalar(strategy_, Synchronization::on_read, aggregation, 1);
    const auto seen = strategy_.run([&] {  // TF case 67: each sees its own at once
      v.assign(number(this_replica()));
      v.assign_add(2);
      return v.value().item<float>();
    });
    for (int replica = 0; replica < replicas_; ++replica) {
      EXPECT_EQ(seen[replica], static_cast<float>(replica + 2));
      EXPECT_EQ(copies_of(v)[static_cast<std::size_t>(replica)], static_cast<float>(replica + 2));
    }
  }
}

// TF case 64: testAssignReplicaLocalVar; TF case 67: testReadValueInCrossReplicaContext
TEST_P(Assign, OnReadIsReadCombined) {
  const float sum = n_ * (n_ - 1) / 2;
  const auto read = [&](Aggregation aggregation) {
    const Variable v = scalar(strategy_, Synchronization::on_read, aggregation);
    strategy_.run([&] { v.assign(number(this_replica())); });
    return v.value().item<float>();
  };
  for (const auto& [aggregation, start] : std::vector<std::pair<Aggregation, float>>{
           {Aggregation::sum, n_}, {Aggregation::mean, 1}, {Aggregation::only_first_replica, 1}})
    EXPECT_EQ(scalar(strategy_, Synchronization::on_read, aggregation, 1).value().item<float>(), start);
  EXPECT_EQ(read(Aggregation::sum), sum);
  EXPECT_EQ(read(Aggregation::mean), sum / n_);
  EXPECT_EQ(read(Aggregation::only_first_replica), 0);
  EXPECT_ERROR(InvalidArgument, "'v' has a value of its own on each replica", read(Aggregation::none));
}

// TF case 64: testAssignReplicaLocalVar, testAssignAddSubWithAggregationSum
TEST_P(Assign, OnReadOutsideReplicasSetsWhatIsRead) {
  for (const Aggregation aggregation : {Aggregation::sum, Aggregation::mean, Aggregation::only_first_replica}) {
    const Variable v = scalar(strategy_, Synchronization::on_read, aggregation, 1);
    v.assign(120);
    EXPECT_EQ(v.value().item<float>(), 120);
  }
  const Variable summed = scalar(strategy_, Synchronization::on_read, Aggregation::sum);
  EXPECT_ERROR(InvalidArgument, "'v' is the sum of one value for each replica", summed.assign_add(1));
  EXPECT_ERROR(InvalidArgument, "'v' is the sum of one value for each replica", summed.assign_sub(number(1)));
  const Variable average = scalar(strategy_, Synchronization::on_read, Aggregation::mean, 1);
  average.assign_add(2);
  EXPECT_EQ(average.value().item<float>(), 3);
}

// TF case 61: testAssignPerReplicaVal, 2.0 on each replica from 0
TEST(AssignOfTwo, TheSameTensorOnEachIsCombined) {
  const MirroredStrategy strategy = mirrored(2);
  for (const auto& [aggregation, expected] : std::vector<std::pair<Aggregation, float>>{
           {Aggregation::sum, 4}, {Aggregation::mean, 2}, {Aggregation::only_first_replica, 2}}) {
    const auto after = [&, aggregation = aggregation](auto assign) {
      const Variable v = scalar(strategy, Synchronization::on_write, aggregation);
      strategy.run([&] { assign(v); });
      return copies_of(v);
    };
    EXPECT_THAT(after([](const Variable& v) { v.assign(number(2)); }), Each(expected));
    EXPECT_THAT(after([](const Variable& v) { v.assign_add(number(2)); }), Each(expected));
    EXPECT_THAT(after([](const Variable& v) { v.assign_sub(number(-2)); }), Each(expected));
  }
}

// TF case 63: every replica sees the first one's value after its assignment
TEST_P(Assign, OnlyTheFirstReplicasValueIsSeenByAll) {
  const Variable v = scalar(strategy_, Synchronization::on_write, Aggregation::only_first_replica, 15);
  const auto seen = strategy_.run([&] {
    v.assign(number(this_replica()));
    return v.value().item<float>();
  });
  EXPECT_THAT(seen.local_results(), Each(0));
}

// TF case 68: testOperatorOverride, ON_READ holding r and an ON_WRITE integer of 1
TEST_P(Assign, TheValueInAnExpressionIsThatOfTheContext) {
  const Variable v = scalar(strategy_, Synchronization::on_read, Aggregation::mean);
  const auto seen = strategy_.run([&] {
    v.assign(number(this_replica()));
    return (v.value() + 1.0).item<float>();
  });
  for (int replica = 0; replica < replicas_; ++replica) EXPECT_EQ(seen[replica], static_cast<float>(replica + 1));
  EXPECT_EQ((v.value() + 1.0).item<float>(), (n_ - 1) / 2 + 1);
  // Arithmetic is for real numbers only: integers are added with assign_add.
  const Variable whole = scalar(strategy_, Synchronization::on_write, Aggregation::sum, 1, DType::i64);
  whole.assign_add(Tensor::full({}, 1, DType::i64));
  EXPECT_EQ(whole.value().item<std::int64_t>(), 2);
  const auto everywhere = strategy_.run([&] { return whole.value().item<std::int64_t>(); });
  EXPECT_THAT(everywhere.local_results(), Each(2));
}

// TF case 79, TF case 80 and semantics 11.1: what is saved is the value that is read, and restoring assigns it, so that
// checkpoints move between any numbers of replicas and none.
TEST_P(Assign, ASavedValueIsRestoredIntoVariablesOfAnyStrategy) {
  for (const Synchronization synchronization : syncs)
    for (const Aggregation aggregation : aggregations) {
      if (synchronization == Synchronization::on_read && aggregation == Aggregation::none) continue;
      const Variable saved = scalar(strategy_, synchronization, aggregation);
      saved.assign(2);
      const Variable plain = scalar(get_strategy(), synchronization, aggregation);
      plain.assign(saved.value());
      EXPECT_EQ(plain.value().item<float>(), 2);
      const Variable other = scalar(mirrored(4), synchronization, aggregation);
      other.assign(saved.value());
      EXPECT_EQ(other.value().item<float>(), 2);
    }
  const Variable apart = scalar(strategy_, Synchronization::on_write, Aggregation::none);
  strategy_.update(
      apart, [](const Variable& own, double value) { own.assign(value); },
      test::per_replica(replicas_, [](int replica) { return 3.0 + replica; }));
  const Tensor read = Tensor::full({}, apart.value().item<float>());
  EXPECT_EQ(read.item<float>(), 3) << "of copies set apart by hand the first is saved";
  strategy_.update(
      apart, [](const Variable& own, double value) { own.assign(value); },
      test::per_replica(replicas_, [](int replica) { return 7.0 + replica; }));
  apart.assign(read);
  EXPECT_THAT(copies_of(apart), Each(3));
  const Variable plain = scalar(get_strategy(), Synchronization::automatic, Aggregation::none, 8);
  apart.assign(plain.value());
  EXPECT_THAT(copies_of(apart), Each(8)) << "a plain one is restored into every copy";
  const Variable none = scalar(strategy_, Synchronization::on_read, Aggregation::none);
  EXPECT_ERROR(InvalidArgument, "no aggregation", none.value());
}

// semantics 5.14, 11.1, Probe P6: TensorFlow divides with truncation, so that a saved and restored 7 reads 6.
TEST_P(Assign, AnIntegerSumKeepsItsRemainder) {
  const Variable v = scalar(strategy_, Synchronization::on_read, Aggregation::sum, 0, DType::i64);
  v.assign(7);
  std::int64_t sum = 0;
  for (const Tensor& own : v.state().copies()) sum += own.item<std::int64_t>();
  EXPECT_EQ(sum, 7);
}

// TF case 72: _test_global_step_update
TEST_P(Assign, AStepCounterOfIntegersCountsOncePerStep) {
  const Variable step = scalar(strategy_, Synchronization::automatic, Aggregation::only_first_replica, 0, DType::i64);
  for (int i = 0; i < 3; ++i) strategy_.run([&] { step.assign_add(Tensor::full({}, 1, DType::i64)); });
  for (const Tensor& own : step.state().copies()) EXPECT_EQ(own.item<std::int64_t>(), 3);
}

// TF case 70: testValueInReplicaContext
TEST_P(Assign, IsSeenInTheSameStep) {
  const Variable v = scalar(strategy_, Synchronization::on_write, Aggregation::mean, 1);
  const auto seen = strategy_.run([&] {
    v.assign_add(number(1));
    return v.value().item<float>();
  });
  EXPECT_THAT(seen.local_results(), Each(2));
}

// TF case 70: testInitScope, a variable made from another's value inside run
TEST_P(Assign, AVariableMadeFromAnothersValueInRunIsWritable) {
  const Variable one = scalar(strategy_, Synchronization::on_write, Aggregation::mean);
  const auto seen = strategy_.run([&] {
    const Variable v({.name = "made",
                      .shape = {},
                      .initializer = [&](const Tensor& out) { copy(one.value(), out); },
                      .aggregation = Aggregation::mean});
    v.assign_add(number(2));
    return v.value().item<float>();
  });
  EXPECT_THAT(seen.local_results(), Each(2));
}

/// [[1, 2], [3, 4]] after assignments of the variable's own value and its transpose.
constexpr float after_own_values[] = {4, 10, 10, 16};
void assign_own_values(const Variable& v) {
  v.assign_add(v.value());
  v.assign(transpose(v.value()));
  v.assign_add(transpose(v.value()));
}

// The value shares a copy's memory, which an assignment overwrites.
TEST_P(Assign, TakesTheVariablesOwnValue) {
  for (const Synchronization synchronization : syncs)
    for (const Aggregation aggregation : aggregations) {
      const bool on_read = synchronization == Synchronization::on_read;
      const auto check = [&](const auto& use) {
        const Variable v = strategy_.scope([&] {
          return Variable({.name = "v",
                           .shape = {2, 2},
                           .initializer =
                               [](const Tensor& out) {
                                 copy(Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2}), out);
                               },
                           .synchronization = synchronization,
                           .aggregation = aggregation});
        });
        use(v, assign_own_values);
        for (const Tensor& own : v.state().copies())
          EXPECT_THAT(own.to_vector<float>(), ElementsAreArray(after_own_values));
        use(v, [](const Variable& own) { own.assign_sub(own.value()); });
        for (const Tensor& own : v.state().copies()) EXPECT_THAT(own.to_vector<float>(), Each(0));
      };
      if (!on_read) check([](const Variable& v, const auto& change) { change(v); });
      if (on_read || aggregation == Aggregation::none || aggregation == Aggregation::only_first_replica)
        check([&](const Variable& v, const auto& change) { strategy_.run([&] { change(v); }); });
      check([&](const Variable& v, const auto& change) { strategy_.update(v, change); });
    }
}

INSTANTIATE_TEST_SUITE_P(Replicas, Assign, testing::ValuesIn(test::replica_counts));

// semantics 2.10: each component in turn, PerReplica args sliced, the results by copy; 1.3: update
TEST(Update, AssignsToOneCopyAtATime) {
  const MirroredStrategy strategy = mirrored(3);
  for (const Synchronization synchronization : syncs) {
    const Variable v = scalar(strategy, synchronization, Aggregation::sum, 1);
    const auto factors = test::per_replica(3, [](int replica) { return replica + 1.0; });
    const auto results = strategy.update(
        v,
        [](const Variable& own, double factor, double shift) {
          own.assign(own.value() * factor);
          own.assign_add(shift);
          return own.value().item<float>();
        },
        factors, 10.0);
    EXPECT_THAT(copies_of(v), ElementsAre(11, 12, 13));
    EXPECT_THAT(results.local_results(), ElementsAre(11, 12, 13));
  }
}

TEST(Update, RunsOnTheCopysDevice) {
  const MirroredStrategy strategy = mirrored(3);
  const Variable v = scalar(strategy, Synchronization::on_write, Aggregation::none);
  const auto devices = strategy.update(v, [](const Variable&) { return Tensor::zeros({1}).device(); });
  EXPECT_EQ(devices.local_results(), strategy.devices());
}

// semantics 2.10: from a replica through a merge
TEST(Update, InsideAReplicaGoesThroughAMerge) {
  const MirroredStrategy strategy = mirrored(2);
  const Variable v = scalar(strategy, Synchronization::on_write, Aggregation::none);
  const auto set = [](const Variable& own, const Tensor& value) { own.assign(value); };
  EXPECT_ERROR(LogicError, "update() was called inside a replica; call it in the function given to merge_call",
               strategy.run([&] { strategy.update(v, set, number(1)); }));
  strategy.run([&] {
    get_replica_context().merge_call(
        [&](const Strategy& cross, const PerReplica<Tensor>& values) { cross.update(v, set, values); },
        std::tuple(number(this_replica() + 1)));
  });
  EXPECT_THAT(copies_of(v), ElementsAre(1, 2));
}

// semantics 5.0: NONE sync refused, MEAN of a non-float dtype refused at creation; 12.23
// TF case 57: testNoneSynchronization; invalid synchronizations and aggregations are no values of their types
TEST(VariableSpec, RefusesWhatCannotBeKept) {
  const MirroredStrategy strategy = mirrored(2);
  EXPECT_ERROR(InvalidArgument, "'v': synchronization none", scalar(strategy, Synchronization::none, Aggregation::sum));
  EXPECT_ERROR(InvalidArgument, "'v' of i64 cannot be aggregated by mean",
               scalar(strategy, Synchronization::on_write, Aggregation::mean, 0, DType::i64));
}

// TF case 72: _test_trainable_variable; semantics 5.0
TEST(VariableSpec, OneCombinedOnReadingIsTrainableOnlyWhenSaidSo) {
  const auto inside = mirrored(2).scope();
  const auto make = [](std::optional<bool> trainable, Synchronization synchronization) {
    return Variable({.name = "v",
                     .shape = {1},
                     .initializer = [](const Tensor& out) { copy(Tensor::zeros({1}), out); },
                     .trainable = trainable,
                     .synchronization = synchronization,
                     .aggregation = Aggregation::sum});
  };
  EXPECT_FALSE(make({}, Synchronization::on_read).trainable());
  EXPECT_TRUE(make(true, Synchronization::on_read).trainable());
  EXPECT_TRUE(make({}, Synchronization::on_write).trainable());
  EXPECT_FALSE(make(false, Synchronization::on_write).trainable());
}

// semantics 5.10, 12.7: mixing different
TEST(VariableOfAnotherStrategy, IsRefused) {
  const MirroredStrategy strategy = mirrored(2);
  const MirroredStrategy other = mirrored(2);
  const Variable v = scalar(strategy, Synchronization::on_write, Aggregation::sum);
  const auto inside = other.scope();
  EXPECT_ERROR(LogicError, "mixing different strategies: variable 'v'", v.assign(1));
  EXPECT_ERROR(LogicError, "mixing different strategies: variable 'v'", v.value());
  EXPECT_ERROR(LogicError, "mixing different strategies: variable 'v'", other.run([&] { v.value(); }));
}

// semantics 2.3: TensorFlow lets every replica write it
TEST(VariableOfNoStrategy, IsReadButNotWrittenByReplicas) {
  const Variable v = test::variable_of("plain", number(4));
  const MirroredStrategy strategy = mirrored(2);
  EXPECT_THAT(strategy.run([&] { return v.value().item<float>(); }).local_results(), Each(4));
  EXPECT_ERROR(LogicError, "'plain' was made outside the strategy's scope", strategy.run([&] { v.assign(1); }));
  mirrored(1).run([&] { v.assign(6); });
  EXPECT_EQ(v.value().item<float>(), 6);
}

}  // namespace
}  // namespace lockstep
