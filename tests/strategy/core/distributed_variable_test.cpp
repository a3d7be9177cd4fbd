#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/strategy/core/distributed_variable.h>

namespace lockstep {
namespace {

using test::mirrored;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class DistributedVariable : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);

  Variable make(Synchronization synchronization, Aggregation aggregation) const {
    return strategy_.scope([&] {
      return Variable({.name = "v",
                       .shape = {3},
                       .initializer = [](const Tensor& out) { copy(Tensor::full({3}, 7), out); },
                       .trainable = synchronization != Synchronization::on_read,
                       .synchronization = synchronization,
                       .aggregation = aggregation});
    });
  }
};

// semantics 1.2, 5.0: components i > 0 copy component 0's value
TEST_P(DistributedVariable, MirroredCopiesStartFromOneCallOfTheInitializer) {
  int calls = 0;
  const Variable v = strategy_.scope([&] {
    return Variable({.name = "v", .shape = {4}, .initializer = [&](const Tensor& out) {
                       ++calls;
                       copy(test::random_tensor({4}, 1), out);
                     }});
  });
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(static_cast<int>(v.state().copies().size()), replicas_);
  for (int replica = 0; replica < replicas_; ++replica) {
    const Tensor& own = v.state().copies()[replica];
    EXPECT_EQ(own.device(), strategy_.devices()[replica]);
    EXPECT_TRUE(own.is_parameter());
    test::expect_same_bits(own, test::random_tensor({4}, 1));
  }
}

TEST_P(DistributedVariable, AReplicaSeesItsOwnCopy) {
  const Variable v = make(Synchronization::automatic, Aggregation::none);
  const auto seen = strategy_.run([&] { return v.value(); });
  for (int replica = 0; replica < replicas_; ++replica)
    EXPECT_EQ(seen[replica].raw_data(), v.state().copies()[replica].raw_data());
  EXPECT_EQ(v.value().raw_data(), v.state().copies()[0].raw_data());
}

TEST_P(DistributedVariable, AssigningAMirroredOneSetsEveryCopy) {
  const Variable v = make(Synchronization::on_write, Aggregation::none);
  const Tensor value = test::random_tensor({3}, 2);
  v.assign(value);
  for (const Tensor& own : v.state().copies()) test::expect_same_bits(own, value);
  EXPECT_THROW(v.assign(Tensor::zeros({2})), InvalidArgument);
  EXPECT_THROW(v.assign(Tensor::zeros({3}, DType::i32)), InvalidArgument);
}

// semantics 1.2: SyncOnReadVariable, combined when read
TEST_P(DistributedVariable, OneCombinedOnReadingHasAValueForEachReplica) {
  const Variable total = make(Synchronization::on_read, Aggregation::sum);
  const Variable average = make(Synchronization::on_read, Aggregation::mean);
  const Variable first = make(Synchronization::on_read, Aggregation::only_first_replica);
  const Variable apart = make(Synchronization::on_read, Aggregation::none);
  strategy_.run([&] {
    for (const Variable& v : {total, average, first, apart})
      launch(kernels::Fill{v.value(), static_cast<float>(test::this_replica() + 1)});
  });
  const int sum = replicas_ * (replicas_ + 1) / 2;
  test::expect_same_bits(total.value(), Tensor::full({3}, sum));
  test::expect_same_bits(average.value(), Tensor::full({3}, static_cast<float>(sum) / static_cast<float>(replicas_)));
  test::expect_same_bits(first.value(), Tensor::full({3}, 1));
  EXPECT_THAT([&] { apart.value(); }, ThrowsMessage<InvalidArgument>(HasSubstr("'v'")));
  for (int replica = 0; replica < replicas_; ++replica)
    test::expect_same_bits(apart.state().copies()[replica], Tensor::full({3}, replica + 1));
}

TEST_P(DistributedVariable, TheFirstReplicasValueMayHaveAnyDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    const Variable v = strategy_.scope([&] {
      return Variable({.name = "v",
                       .shape = {3},
                       .initializer = [&](const Tensor& out) { copy(Tensor::zeros({3}, dtype), out); },
                       .dtype = dtype,
                       .synchronization = Synchronization::on_read,
                       .aggregation = Aggregation::only_first_replica});
    });
    strategy_.run([&] { v.assign(test::this_replica() == 0 ? 1 : 0); });
    const Tensor read = v.value();
    test::expect_same_bits(read, Tensor::full({3}, 1, dtype));
    v.assign(0);
    test::expect_same_bits(read, Tensor::full({3}, 1, dtype));
    v.assign(read);
    for (const Tensor& own : v.state().copies()) test::expect_same_bits(own, read);
  }
}

TEST_P(DistributedVariable, AMeanOnReadingIsWhatEqualElementsAre) {
  const Variable average = make(Synchronization::on_read, Aggregation::mean);
  constexpr float inexact = 0.1F;  // the mean of equal values rounds to another value for some numbers of replicas
  for (const float last : {inexact, 5.0F})
    for (const std::optional<float> not_finite :
         {std::optional<float>{}, std::optional(std::numeric_limits<float>::infinity())}) {
      strategy_.run([&] {
        const float third = test::this_replica() == 0 ? last : inexact;
        copy(Tensor::from(std::vector<float>{inexact, not_finite.value_or(inexact), third}, {3}), average.value());
      });
      const std::vector<float> read = average.value().to_vector<float>();
      EXPECT_EQ(read[0], inexact);
      EXPECT_EQ(read[1], not_finite.value_or(inexact));
      EXPECT_NEAR(read[2], inexact + (last - inexact) / static_cast<float>(replicas_), 1e-6);
    }
}

TEST_P(DistributedVariable, AssigningOneCombinedOnReadingMakesItReadSo) {
  const Variable total = make(Synchronization::on_read, Aggregation::sum);
  const Variable average = make(Synchronization::on_read, Aggregation::mean);
  const Tensor divisible = Tensor::full({3}, 120);  // divisible by all tested numbers of replicas
  const Tensor any = test::random_tensor({3}, 1);
  for (const auto& [v, value] : {std::pair(total, divisible), std::pair(average, any)}) {
    v.assign(value);
    test::expect_same_bits(v.value(), value);
  }
  for (const Tensor& own : total.state().copies()) test::expect_same_bits(own, Tensor::full({3}, 120.0 / replicas_));
  for (const Tensor& own : average.state().copies()) test::expect_same_bits(own, any);
}

TEST(SyncOnReadVariable, IsDividedAmongMoreReplicasThanAByteCounts) {
  const Variable v(std::make_shared<SyncOnReadVariable>(
      VariableSpec{.name = "v",
                   .shape = {2},
                   .initializer = [](const Tensor& out) { copy(Tensor::zeros({2}, DType::u8), out); },
                   .dtype = DType::u8,
                   .synchronization = Synchronization::on_read,
                   .aggregation = Aggregation::sum},
      std::vector<LogicalDevice>(256), std::weak_ptr<const StrategyState>()));
  v.assign(Tensor::from<std::uint8_t>({0, 200}, {2}));
  EXPECT_THAT(v.state().copies().front().to_vector<int>(), ElementsAre(0, 200));
  for (std::size_t replica = 1; replica < 256; ++replica)
    EXPECT_THAT(v.state().copies()[replica].to_vector<int>(), ElementsAre(0, 0));
}

TEST_P(DistributedVariable, MovingACopyKeepsValueAndIdentity) {
  const Variable v = make(Synchronization::on_write, Aggregation::none);
  const Tensor memory = Tensor::empty({3});
  const Tensor before = v.state().copies().back();
  v.state().move_copy(replicas_ - 1, memory);
  const Tensor& after = v.state().copies().back();
  EXPECT_EQ(after.raw_data(), memory.raw_data());
  EXPECT_EQ(after.id(), before.id());
  EXPECT_TRUE(after.is_parameter());
  test::expect_same_bits(after, before);
}

INSTANTIATE_TEST_SUITE_P(Replicas, DistributedVariable, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
