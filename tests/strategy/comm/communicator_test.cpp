#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>

#include "replicas_and_ops.h"

// Guarantees of all communicators.

namespace lockstep {
namespace {

using test::mirrored;
using testing::AllOf;
using testing::HasSubstr;

class CommunicatorOf : public test::ReplicasAndOps {};

TEST_P(CommunicatorOf, AllReduceKeepsShapesTakesSlicesAndLeavesItsArgumentsAlone) {
  const auto values = test::per_replica(replicas_, [](int replica) {
    return test::strided_copy(Tensor::full({2, 3, 4}, replica + 1));
  });
  const Tensor sum = Tensor::full({2, 3, 4}, replicas_ * (replicas_ + 1) / 2);
  const auto results = all_reduce(ReduceOp::sum, values);
  for (int replica = 0; replica < replicas_; ++replica) {
    test::expect_same_bits(results[replica], sum);
    test::expect_same_bits(values[replica], Tensor::full({2, 3, 4}, replica + 1));
  }
}

TEST_P(CommunicatorOf, ResultsShareNoMemoryWithOthersOrWithArguments) {
  const auto values = test::per_replica(replicas_, [](int) { return Tensor::zeros({3}); });
  const auto results = all_reduce(ReduceOp::sum, values);
  for (int replica = 0; replica < replicas_; ++replica) {
    EXPECT_NE(results[replica].raw_data(), values[replica].raw_data());
    for (int other = 0; other < replica; ++other) EXPECT_NE(results[replica].raw_data(), results[other].raw_data());
  }
}

TEST_P(CommunicatorOf, ReduceAndUpdateGivesEveryCopyTheStepOfTheSummedGradients) {
  constexpr std::int64_t size = 200;
  // Integers: their sum is the same in any order.
  const std::vector<LogicalDevice>& devices = strategy_.devices();
  const auto gradients = test::per_replica(replicas_, [&](int replica) {
    std::vector<float> values;
    for (int i = 0; i < size; ++i) values.push_back(static_cast<float>((i * (replica + 3)) % 17));
    return to_device(Tensor::from(values, {size}), devices[static_cast<std::size_t>(replica)]);
  });
  const auto parameters = test::per_replica(replicas_, [&](int replica) {
    return to_device(test::random_tensor({size}, 7) * 1.0, devices[static_cast<std::size_t>(replica)]);
  });
  const Tensor velocity = to_device(Tensor::zeros({size}), devices.front());
  std::vector<float*> gradient_pointers;
  std::vector<float*> parameter_pointers;
  for (int replica = 0; replica < replicas_; ++replica) {
    gradient_pointers.push_back(gradients[replica].data<float>());
    parameter_pointers.push_back(parameters[replica].data<float>());
  }
  std::vector<float> sums(size);
  for (const Tensor& own : gradients.local_results())
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += own.to_vector<float>()[i];
  float* const state[] = {velocity.data<float>()};
  const FlatRange ranges[] = {{0, 16}, {32, 32}, {48, 197}};
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    context.gradient_update().reduce_and_update(
        context.replica_id_in_sync_group(), {gradient_pointers, parameter_pointers, state}, ranges,
        [](const UpdateViews& views) {
          launch(kernels::Update{SgdStep{.learning_rate = 1, .momentum = 0.5F}, views});
        });
  });
  const std::vector<float> before = test::random_tensor({size}, 7).to_vector<float>();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool in_a_range = i < 16 || (i >= 48 && i < 197);
    EXPECT_EQ(velocity.to_vector<float>()[i], in_a_range ? -sums[i] : 0) << i;
    for (const Tensor& copy : parameters.local_results())
      EXPECT_EQ(copy.to_vector<float>()[i], in_a_range ? before[i] - sums[i] : before[i]) << i;
  }
}

TEST_P(CommunicatorOf, SeveralTensorsInOneCallComeBackInTheirPlaces) {
  // semantics 7.2: packing, by dtype; the sizes of packs change no result
  for (const std::int64_t bytes_per_pack : {0, 1, 100, 1 << 20}) {
    const MirroredStrategy packing = mirrored(replicas_, ops_, bytes_per_pack);
    const auto results = packing.run([] {
      const int r = test::this_replica();
      return get_replica_context().all_reduce(
          "sum", std::vector{Tensor::full({2, 3}, r), Tensor::full({5}, 10 * r, DType::i64), Tensor::full({}, r + 0.5),
                             Tensor::full({0, 4}, 1), Tensor::full({7}, 2, DType::bf16),
                             test::strided_copy(Tensor::full({4, 9}, 1 + r)), Tensor::full({3}, -r, DType::i64)});
    });
    const int ids = replicas_ * (replicas_ - 1) / 2;
    for (const std::vector<Tensor>& own : results.local_results()) {
      ASSERT_EQ(own.size(), 7U);
      test::expect_same_bits(own[0], Tensor::full({2, 3}, ids));
      test::expect_same_bits(own[1], Tensor::full({5}, 10 * ids, DType::i64));
      test::expect_same_bits(own[2], Tensor::full({}, ids + 0.5 * replicas_));
      test::expect_same_bits(own[3], Tensor::zeros({0, 4}));
      test::expect_same_bits(own[4], Tensor::full({7}, 2 * replicas_, DType::bf16));
      test::expect_same_bits(own[5], Tensor::full({4, 9}, ids + replicas_));
      test::expect_same_bits(own[6], Tensor::full({3}, -ids, DType::i64));
    }
  }
}

TEST_P(CommunicatorOf, NoTensorsAreCombinedToNone) {
  const auto results = strategy_.run([] { return get_replica_context().all_reduce("max", std::vector<Tensor>{}); });
  for (const auto& own : results.local_results()) EXPECT_TRUE(own.empty());
}

TEST_P(CommunicatorOf, WhatHasNoResultIsRefusedOnEveryReplicaAndTheNextCallWorks) {
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    // semantics 4.1: bool unsupported (here bytes), MEAN of ints
    EXPECT_ERROR(InvalidArgument, "got u8", context.all_reduce("sum", Tensor::zeros({2}, DType::u8)));
    EXPECT_ERROR(InvalidArgument, "the mean of i64", context.all_reduce("mean", Tensor::zeros({2}, DType::i64)));
    EXPECT_ERROR(InvalidArgument, "got an undefined one from replica 0", context.all_reduce("sum", Tensor()));
    EXPECT_EQ(context.all_reduce("sum", 1.0).item<float>(), static_cast<float>(replicas_));
  });
}

INSTANTIATE_OVER_REPLICAS_AND_OPS(CommunicatorOf);

/// With at least two replicas, which make different calls.
class ReplicasThatDisagree : public CommunicatorOf {
 protected:
  /// The replicas' error messages for a call on which they disagree. A later call in the same step must work.
  template <class Call>
  void expect_messages(const Call& call, const testing::Matcher<std::string>& message) const {
    strategy_.run([&] {
      const ReplicaContext context = get_replica_context();
      EXPECT_THAT(test::error_of<InvalidArgument>([&] { call(context, context.replica_id_in_sync_group()); }), message);
      EXPECT_EQ(context.all_reduce("sum", Tensor::full({}, 1)).item<float>(), static_cast<float>(replicas_));
    });
  }
};

TEST_P(ReplicasThatDisagree, OnShapesAreAllToldAllShapes) {
  // semantics 4.2, 15.1, Probe P4: compared on the host before launch, with all replicas' signatures; TensorFlow's own
  // fails from then on
  std::vector<testing::Matcher<std::string>> each;
  for (int replica = 0; replica < replicas_; ++replica)
    each.emplace_back(HasSubstr(fmt::format("sum of f32 (2, {}){}", replica + 3, test::on_device(replica))));
  expect_messages(
      [](const ReplicaContext& context, int r) {
        context.all_reduce("sum", Tensor::zeros({2, r + 3}));
      },
      testing::AllOfArray(each));
}

TEST_P(ReplicasThatDisagree, OnOpsOrDtypesAreAllToldAllOfThem) {
  // semantics 4.2
  expect_messages(
      [](const ReplicaContext& context, int r) { context.all_reduce(r == 0 ? "min" : "mean", Tensor::zeros({1})); },
      AllOf(HasSubstr("min of f32 (1)"), HasSubstr("mean of f32 (1)")));
  expect_messages(
      [](const ReplicaContext& context, int r) {
        context.all_reduce("sum", Tensor::zeros({1}, r == 0 ? DType::i32 : DType::f32));
      },
      AllOf(HasSubstr("sum of i32 (1)" + test::on_device(0)), HasSubstr("sum of f32 (1)" + test::on_device(1))));
}

TEST_P(ReplicasThatDisagree, OnListsAreToldTheTensorOrTheNumbers) {
  expect_messages(
      [](const ReplicaContext& context, int r) {
        context.all_reduce("sum", std::vector{Tensor::zeros({1}), Tensor::zeros({r + 1})});
      },
      AllOf(HasSubstr("sum of f32 (2)" + test::on_device(1)), HasSubstr("as tensor 2 of 2")));
  expect_messages(
      [](const ReplicaContext& context, int r) {
        context.all_reduce("sum", std::vector<Tensor>(static_cast<std::size_t>(r + 1), Tensor::zeros({1})));
      },
      HasSubstr("needs as many tensors from every replica, got 1, 2"));
  expect_messages(
      [](const ReplicaContext& context, int r) { context.all_reduce("sum", r == 1 ? Tensor() : Tensor::zeros({1})); },
      HasSubstr("got an undefined one from replica 1"));
}

TEST_P(ReplicasThatDisagree, OnTheOrderOfCollectivesAreToldBothPlaces) {
  // semantics 3.7, 4.1: all replicas reach it in the same order; a replica that took the other branch is an error, no
  // hang
  const auto step = [] {
    const ReplicaContext context = get_replica_context();
    const Tensor value = Tensor::zeros({2});
    const auto reduce = [&] { context.all_reduce("sum", value); };
    const auto gather = [&] { context.all_gather(value, 0); };
    if (test::this_replica() == 0) {
      reduce();
      gather();
    } else {
      gather();
      reduce();
    }
  };
  EXPECT_THAT(test::error_of<LogicError>([&] { strategy_.run(step); }),
              AllOf(HasSubstr("is at "), HasSubstr("all_reduce"), HasSubstr("all_gather")));
  const auto after = strategy_.run([] { return get_replica_context().all_reduce("sum", 1.0); });
  EXPECT_EQ(after[0].item<float>(), static_cast<float>(replicas_));
}

INSTANTIATE_TEST_SUITE_P(Several, ReplicasThatDisagree,
                         testing::Combine(testing::Values(2, 3, 4, 5, 8),
                                          testing::ValuesIn(test::host_cross_device_ops)),
                         test::text_of);

}  // namespace
}  // namespace lockstep
