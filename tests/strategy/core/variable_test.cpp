#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/core/structure.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

VariableSpec spec(const std::string& name, const Shape& shape = {2}) {
  return {.name = name, .shape = shape, .initializer = [](const Tensor& to) {
            std::fill_n(to.data<float>(), to.elements(), 3.0F);
          }};
}

/// A variable with a copy on each of two logical CPUs.
Variable mirrored(VariableSpec of) { return Variable(std::make_shared<VariableState>(std::move(of), logical_cpus(2))); }

ExecutionContext in_replica(int replica) {
  return {.device = {DeviceKind::cpu, replica, 1}, .replica = replica, .replicas = 2};
}

TEST(Variable, IsInitializedOnTheCurrentDevice) {
  const ContextScope scope({.device = {DeviceKind::cpu, 4, 1}});
  const Variable variable(spec("w"));
  EXPECT_EQ(variable.value().device().name(), "CPU:4");
  EXPECT_THAT(variable.value().to_vector<float>(), ElementsAre(3, 3));
  EXPECT_EQ(variable.name(), "w");
  EXPECT_EQ(variable.shape(), Shape{2});
}

TEST(Variable, IsUndefinedAtFirst) { EXPECT_FALSE(Variable().defined()); }

TEST(Variable, HandlesAreTheSameVariable) {
  const Variable variable(spec("w"));
  const Variable handle = variable;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested
  EXPECT_EQ(handle, variable);
  EXPECT_FALSE(variable == Variable(spec("w")));
  handle.assign(Tensor::full({2}, 9));
  EXPECT_THAT(variable.value().to_vector<float>(), ElementsAre(9, 9));
}

TEST(Variable, IsAParameterExactlyWhenTrainable) {
  EXPECT_TRUE(Variable(spec("w")).value().is_parameter());
  VariableSpec statistics = spec("moving_mean");
  statistics.trainable = false;
  EXPECT_FALSE(Variable(std::move(statistics)).value().is_parameter());
}

TEST(Variable, InitializesOnceAndCopiesToTheOtherDevices) {
  int calls = 0;
  VariableSpec counted = spec("w");
  counted.initializer = [&](const Tensor& to) { std::fill_n(to.data<float>(), 2, static_cast<float>(++calls)); };
  const Variable variable = mirrored(std::move(counted));
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(variable.state().copies().size(), 2U);
  EXPECT_EQ(variable.state().copies()[1].device().name(), "CPU:1");
  EXPECT_THAT(variable.state().copies()[1].to_vector<float>(), ElementsAre(1, 1));
}

// semantics 1.2: components of one variable
TEST(Variable, AReplicaReadsItsOwnCopy) {
  const Variable variable = mirrored(spec("w"));
  for (const int replica : {0, 1}) {
    const ContextScope scope(in_replica(replica));
    EXPECT_EQ(variable.value().id(), variable.state().copies()[replica].id());
  }
}

TEST(Variable, WithOneCopyIsReadByEveryReplica) {
  const Variable variable(spec("w"));
  const ContextScope scope(in_replica(1));
  EXPECT_EQ(variable.value().id(), variable.state().copies()[0].id());
}

// TF case 77: testDeepCopy. A handle is not copied deep; another variable of the same kind and value is made from its
// spec, keeps devices and policy, and has storage of its own. semantics 5.13
TEST(Variable, AnotherOfItsSpecHasItsOwnStorage) {
  const Variable original = mirrored(spec("w"));
  original.assign(Tensor::full({2}, 7));
  VariableSpec same = original.state().spec();
  same.initializer = [&](const Tensor& to) { copy(original.value(), to); };
  const Variable own = mirrored(std::move(same));
  for (int copy = 0; copy < 2; ++copy) {
    const Tensor& of_original = original.state().copies()[static_cast<std::size_t>(copy)];
    const Tensor& of_own = own.state().copies()[static_cast<std::size_t>(copy)];
    EXPECT_EQ(of_own.device(), of_original.device());
    EXPECT_THAT(of_own.to_vector<float>(), ElementsAre(7, 7));
    EXPECT_NE(of_own.raw_data(), of_original.raw_data());
  }
  EXPECT_EQ(own.aggregation(), original.aggregation());
  own.assign(Tensor::full({2}, 1));
  EXPECT_THAT(original.value().to_vector<float>(), ElementsAre(7, 7));
}

// TF case 77: testSelectReplica, testAssignSignature. A variable passes whole to every replica. Assigning takes the
// value alone: the others of TensorFlow's parameters are about its graphs.
static_assert(std::is_same_v<decltype(std::declval<const Variable&>().assign(std::declval<Tensor>())), void>);
TEST(Variable, IsPassedWholeToEveryReplica) {
  const Variable variable = mirrored(spec("w"));
  EXPECT_EQ(&value_for_replica(variable, 1), &variable);
  EXPECT_EQ(replicas_of(variable), 0);
}

TEST(VariableAssign, SetsEveryCopy) {
  const Variable variable = mirrored(spec("w"));
  variable.assign(Tensor::full({2}, 5));
  for (const Tensor& copy : variable.state().copies()) EXPECT_THAT(copy.to_vector<float>(), ElementsAre(5, 5));
}

// semantics 15.10
TEST(VariableAssign, RejectsAnotherShapeOrDtypeAndNamesTheVariable) {
  const Variable variable = mirrored(spec("dense/kernel"));
  EXPECT_THAT([&] { variable.assign(Tensor::zeros({3})); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("'dense/kernel'"), HasSubstr("(2)"), HasSubstr("(3)"))));
  EXPECT_THROW(variable.assign(Tensor::zeros({2}, DType::i32)), InvalidArgument);
  EXPECT_THAT(variable.value().to_vector<float>(), ElementsAre(3, 3)) << "nothing was written";
}

TEST(VariableAssign, RejectsAnUndefinedValueEvenForAScalar) {
  const Variable scalar(spec("step", {}));
  EXPECT_THAT([&] { scalar.assign(Tensor()); }, ThrowsMessage<InvalidArgument>(HasSubstr("'step'")));
}

// semantics 2.3: refuse assigning a non-mirrored variable from a replica
TEST(VariableAssign, OfAPlainVariableIsForbiddenToOneOfSeveralReplicas) {
  const Variable variable = mirrored(spec("w"));
  const ContextScope scope(in_replica(0));
  EXPECT_THAT([&] { variable.assign(Tensor::zeros({2})); }, ThrowsMessage<LogicError>(HasSubstr("'w'")));
}

TEST(VariableState, MovesACopyAlongWithItsValue) {
  const Variable variable = mirrored(spec("w"));
  const Tensor arena = Tensor::zeros({8});
  variable.state().move_copy(1, arena.slice_view(0, 4, 6));
  EXPECT_THAT(arena.to_vector<float>(), ElementsAre(0, 0, 0, 0, 3, 3, 0, 0));
  EXPECT_TRUE(variable.state().copies()[1].is_parameter());
  variable.assign(Tensor::full({2}, 7));
  EXPECT_THAT(arena.to_vector<float>(), ElementsAre(0, 0, 0, 0, 7, 7, 0, 0));
}

TEST(VariableState, RecordsChangesOfTheCopiesThatAreWritten) {
  const Variable variable = mirrored(spec("w"));
  const std::vector<Tensor> copies = variable.state().copies();
  const auto changed_by = [&](const auto& write) {
    const std::uint64_t before = Parameter::now();
    write();
    return std::vector{copies[0].parameter()->changed_since(before), copies[1].parameter()->changed_since(before)};
  };
  const Tensor two = Tensor::full({2}, 2);
  const IndexedSlices row{Tensor::full({1}, 1), Tensor::from(std::vector<std::int64_t>{1}, {1}), {2}};
  EXPECT_EQ(copies[1].parameter()->name(), "w");
  EXPECT_THAT(changed_by([&] { variable.assign(two); }), ElementsAre(true, true));
  EXPECT_THAT(changed_by([&] { variable.assign_sub(1); }), ElementsAre(true, true));
  EXPECT_THAT(changed_by([&] { variable.scatter_add(row); }), ElementsAre(true, true));
  EXPECT_THAT(changed_by([&] { variable.state().write_copy(1, AssignOp::add, two); }), ElementsAre(false, true));
  EXPECT_THAT(changed_by([&] { variable.state().scatter_copy(0, ScatterOp::update, row); }), ElementsAre(true, false));
  EXPECT_THAT(changed_by([&] { variable.state().move_copy(0, Tensor::zeros({2})); }), ElementsAre(false, false));
  variable.state().set_trainable(false);
  EXPECT_THAT(changed_by([&] { variable.assign(two); }), ElementsAre(true, true)) << "tapes may know it from before";
  EXPECT_THAT(changed_by([&] { (void)variable.value(); }), ElementsAre(false, false));
}

TEST(VariableState, FrozenAndThawedIsTheSameParameterInTheSameMemory) {
  const Variable variable = mirrored(spec("w"));
  const std::vector<Tensor> before = variable.state().copies();
  variable.state().set_trainable(false);
  EXPECT_FALSE(variable.trainable());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Tensor frozen = variable.state().copies()[i];
    EXPECT_FALSE(frozen.is_parameter());
    EXPECT_NE(frozen.id(), before[i].id());
    EXPECT_EQ(frozen.raw_data(), before[i].raw_data());
  }
  variable.state().set_trainable(false);
  const Tensor arena = Tensor::zeros({2});
  variable.state().move_copy(1, arena);
  variable.state().set_trainable(true);
  EXPECT_TRUE(variable.trainable());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(variable.state().copies()[i].id(), before[i].id());
  EXPECT_TRUE(variable.state().copies()[1].is_parameter());
  EXPECT_EQ(variable.state().copies()[1].raw_data(), arena.raw_data());
  EXPECT_THAT(arena.to_vector<float>(), ElementsAre(3, 3));
}

TEST(VariableState, ACopyThatHasMovedKeepsNoMemoryButFollowsItsHandles) {
  const LogicalDevice device{DeviceKind::cpu, 31};
  const ContextScope there(context_on(device));
  const Variable variable(spec("w"));
  const Tensor read = variable.value();
  const Tensor part = read.slice_view(0, 1, 2);
  const Tensor first = Tensor::empty({2});
  const Tensor second = Tensor::empty({2});
  const std::size_t before = allocator(device).stats().bytes_in_use;
  variable.state().move_copy(0, first);
  EXPECT_LT(allocator(device).stats().bytes_in_use, before);
  variable.assign(Tensor::from(std::vector{4.0F, 5.0F}, {2}));
  EXPECT_THAT(read.to_vector<float>(), ElementsAre(4, 5));
  EXPECT_THAT(part.to_vector<float>(), ElementsAre(5));
  // Memory that was not allocated for the variable alone may have other users.
  const std::size_t after = allocator(device).stats().bytes_in_use;
  variable.state().move_copy(0, second);
  EXPECT_EQ(allocator(device).stats().bytes_in_use, after);
  variable.assign(Tensor::zeros({2}));
  EXPECT_THAT(first.to_vector<float>(), ElementsAre(4, 5));
}

}  // namespace
}  // namespace lockstep
