#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/strategy/core/variable.h>

// The table in section 5 of the contract, one test for each row, on two replicas: the effect of assigning, and the
// values read. x_r is a tensor of replica r, 10 + 4r; c is a number of the program.

namespace lockstep {
namespace {

using test::this_replica;
using testing::ElementsAre;

class AssignmentTable : public testing::Test {
 protected:
  Variable make(Synchronization synchronization, Aggregation aggregation, DType dtype = DType::f32) const {
    return strategy_.scope([&] {
      return Variable({.name = "v",
                       .shape = {},
                       .initializer = [dtype](const Tensor& out) { copy(Tensor::full({}, 1, dtype), out); },
                       .dtype = dtype,
                       .synchronization = synchronization,
                       .aggregation = aggregation});
    });
  }
  void assign_own_tensors(const Variable& v) const {
    strategy_.run([&] { v.assign(Tensor::full({}, 10 + 4 * this_replica())); });
  }
  void assign_in_replicas(const Variable& v, double c) const {
    strategy_.run([&] { v.assign(c); });
  }
  /// The value that each replica reads.
  std::vector<float> in_replicas(const Variable& v) const {
    return strategy_.run([&] { return v.value().item<float>(); }).local_results();
  }
  static float across(const Variable& v) { return v.value().item<float>(); }
  static std::vector<float> copies(const Variable& v) {
    return {v.state().copies()[0].item<float>(), v.state().copies()[1].item<float>()};
  }
  /// Checks that all rows for variables with on_write share.
  void check_on_write_across(const Variable& v) const {
    v.assign(6);
    EXPECT_THAT(copies(v), ElementsAre(6, 6));
    EXPECT_EQ(across(v), 6);
    EXPECT_THAT(in_replicas(v), ElementsAre(6, 6));
  }

  /// Checks that all rows for variables with on_read share: a replica writes and reads its own copy.
  void check_on_read_in_replicas(const Variable& v) const {
    assign_in_replicas(v, 5);
    EXPECT_THAT(copies(v), ElementsAre(5, 5));
    assign_own_tensors(v);
    EXPECT_THAT(copies(v), ElementsAre(10, 14));
    EXPECT_THAT(in_replicas(v), ElementsAre(10, 14));
  }

  const MirroredStrategy strategy_ = test::mirrored(2);
};

// semantics 5.1. In TensorFlow replicas that assign different values diverge silently; here that is an error, and
// equal ones are taken.
TEST_F(AssignmentTable, OnWriteNone) {
  for (const Synchronization synchronization : {Synchronization::automatic, Synchronization::on_write}) {
    const Variable v = make(synchronization, Aggregation::none);
    check_on_write_across(v);
    EXPECT_ERROR(InvalidArgument, "'v' has no aggregation, and replicas 0 and 1 assign different values",
                 assign_own_tensors(v));
    EXPECT_THAT(copies(v), ElementsAre(6, 6));
    assign_in_replicas(v, 5);
    EXPECT_THAT(copies(v), ElementsAre(5, 5));
  }
}

// semantics 5.2: a tensor counts once for each replica, a number is refused
TEST_F(AssignmentTable, OnWriteSum) {
  const Variable v = make(Synchronization::on_write, Aggregation::sum);
  check_on_write_across(v);
  assign_own_tensors(v);
  EXPECT_THAT(copies(v), ElementsAre(24, 24));
  EXPECT_ERROR(InvalidArgument, "a number that is the same on every replica cannot be summed",
               assign_in_replicas(v, 5));
  strategy_.run([&] { v.assign(Tensor::full({}, 5)); });
  EXPECT_THAT(in_replicas(v), ElementsAre(10, 10));
}

// semantics 5.3
TEST_F(AssignmentTable, OnWriteMean) {
  const Variable v = make(Synchronization::on_write, Aggregation::mean);
  check_on_write_across(v);
  assign_own_tensors(v);
  EXPECT_THAT(copies(v), ElementsAre(12, 12));
  assign_in_replicas(v, 5);
  EXPECT_THAT(copies(v), ElementsAre(5, 5));
}

// semantics 5.4
TEST_F(AssignmentTable, OnWriteOnlyFirstReplica) {
  const Variable v = make(Synchronization::on_write, Aggregation::only_first_replica);
  check_on_write_across(v);
  assign_own_tensors(v);
  EXPECT_THAT(copies(v), ElementsAre(10, 10));
  assign_in_replicas(v, 5);
  EXPECT_THAT(copies(v), ElementsAre(5, 5));
}

// semantics 5.5
TEST_F(AssignmentTable, OnReadNone) {
  const Variable v = make(Synchronization::on_read, Aggregation::none);
  v.assign(6);
  EXPECT_THAT(copies(v), ElementsAre(6, 6)) << "TensorFlow fails after it has written";
  EXPECT_ERROR(InvalidArgument, "'v' has a value of its own on each replica and no aggregation", across(v));
  check_on_read_in_replicas(v);
}

// semantics 5.6: c/R each, of which integers keep what is left over
TEST_F(AssignmentTable, OnReadSum) {
  const Variable v = make(Synchronization::on_read, Aggregation::sum);
  v.assign(6);
  EXPECT_THAT(copies(v), ElementsAre(3, 3));
  EXPECT_EQ(across(v), 6);
  EXPECT_ERROR(InvalidArgument, "'v' is the sum of one value for each replica", v.assign_add(1));
  EXPECT_ERROR(InvalidArgument, "'v' is the sum of one value for each replica", v.assign_sub(1));
  check_on_read_in_replicas(v);
  EXPECT_EQ(across(v), 24);
  const Variable whole = make(Synchronization::on_read, Aggregation::sum, DType::i64);
  whole.assign(7);
  EXPECT_EQ(whole.state().copies()[0].item<std::int64_t>(), 4);
  EXPECT_EQ(whole.state().copies()[1].item<std::int64_t>(), 3);
}

// semantics 5.7
TEST_F(AssignmentTable, OnReadMean) {
  const Variable v = make(Synchronization::on_read, Aggregation::mean);
  v.assign(6);
  v.assign_add(3);
  v.assign_sub(1);
  EXPECT_THAT(copies(v), ElementsAre(8, 8));
  check_on_read_in_replicas(v);
  EXPECT_EQ(across(v), 12);
}

// semantics 5.8
TEST_F(AssignmentTable, OnReadOnlyFirstReplica) {
  const Variable v = make(Synchronization::on_read, Aggregation::only_first_replica);
  v.assign(6);
  EXPECT_THAT(copies(v), ElementsAre(6, 6));
  check_on_read_in_replicas(v);
  EXPECT_EQ(across(v), 10);
}

// semantics 5.9: the delta is aggregated, then applied to each copy; values may be those of mirrored variables; in
// `update` it is always the one copy
TEST_F(AssignmentTable, ADeltaIsAggregated) {
  const Variable delta = make(Synchronization::on_write, Aggregation::none);
  const std::vector<std::pair<Aggregation, float>> expected{
      {Aggregation::none, 2}, {Aggregation::sum, 3}, {Aggregation::mean, 2}, {Aggregation::only_first_replica, 2}};
  for (const auto& [aggregation, value] : expected) {
    const Variable v = make(Synchronization::on_write, aggregation);
    strategy_.run([&] { v.assign_add(delta.value()); });
    EXPECT_THAT(copies(v), ElementsAre(value, value));
    strategy_.run([&] { v.assign_sub(delta.value()); });
    EXPECT_THAT(copies(v), ElementsAre(1, 1));
    strategy_.update(
        v, [](const Variable& own, double step) { own.assign_add(step); }, PerReplica(std::vector{1.0, 2.0}));
    EXPECT_THAT(copies(v), ElementsAre(2, 3));
  }
}

}  // namespace
}  // namespace lockstep
