#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/pretend_gpu/pretend_cuda.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/comm/nccl/gpu_collectives.h>
#include <lockstep/strategy/reduce/reducer.h>

// Replicas with a GPU each. NCCL is pretended.

namespace lockstep {
namespace {

using test::PretendCollective;
using test::this_replica;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

/// The collectives passed to NCCL since the last call.
std::vector<PretendCollective> collectives() { return test::pretend_cuda()->take_collectives(); }

MirroredStrategy on_gpus(int replicas, DType wire_dtype = DType::f32) {
  return MirroredStrategy(logical_gpus(replicas), {.wire_dtype = wire_dtype});
}

/// Returns x; calls `at_backward` when backward reaches it.
Tensor probed(const Tensor& x, const std::function<void()>& at_backward) {
  const Tensor y = x.view(x.shape());
  record("probe", {x}, y, [at_backward](BackwardContext& c) {
    at_backward();
    pass_on(c, 0, c.gradient(0));
  });
  return y;
}

/// What happens to a step's gradients after backward.
using AfterBackward = GradientReducer::AfterBackward;

/// Two variables, each with its own bucket: backward ends with the gradient of the first one, which comes last in
/// memory.
class Training {
 public:
  static constexpr std::int64_t large = 1 << 18;  // elements of 1 MiB
  static constexpr std::int64_t small = 48;

  explicit Training(int replicas, DType wire_dtype = DType::f32) : strategy_(on_gpus(replicas, wire_dtype)) {
    collectives();
  }

  /// Options for the loss of a step.
  struct Step {
    AfterBackward next = AfterBackward::apply;
    std::function<bool(int)> uses_first = [](int) { return true; };  ///< by replica
    std::function<bool(int)> uses_last = [](int) { return true; };   ///< by replica
    /// Called when backward has computed the last variable's gradient and reaches the first.
    std::function<void()> between = [] {};
  };
  void run(int number, const Step& step) {
    strategy_.run([&] {
      const ReplicaContext context = get_replica_context();
      const double factor = 1 + 0.1 * this_replica() + 0.01 * number;
      GradientTape tape;
      Tensor loss = Tensor::full({}, 0);
      if (step.uses_first(this_replica())) loss = loss + sum(tanh(probed(first_.value(), step.between) * factor));
      if (step.uses_last(this_replica())) loss = loss + sum(square(slice(last_.value(), 0, 7, 1007) * factor));
      reducer_.backward(context, tape, loss, step.next);
      reducer_.apply(context, [](const UpdateViews& views) {
        launch(kernels::Update{SgdStep{.learning_rate = 0.01F, .momentum = 0.9F}, views});
      });
    });
  }
  const MirroredStrategy& strategy() const { return strategy_; }
  /// Sizes of the gradient ranges submitted since the last call.
  std::vector<std::size_t> enqueued_ranges() const {
    strategy_.state()->coordination().connections.gpus->wait_until_enqueued();
    return test::take_collective_elements();
  }
  /// Values of both variables; all copies must be equal.
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> values;
    for (const Variable& variable : {first_, last_}) {
      values.push_back(variable.state().copies().front().to_vector<float>());
      for (const Tensor& copy : variable.state().copies()) EXPECT_EQ(copy.to_vector<float>(), values.back());
    }
    return values;
  }

 private:
  MirroredStrategy strategy_;
  Variable first_ = strategy_.scope([] { return test::variable_of("first", test::random_tensor({small}, 1)); });
  Variable last_ = strategy_.scope([] { return test::variable_of("last", test::random_tensor({large}, 2)); });
  GradientReducer reducer_{{first_, last_}, strategy_.devices(), {.slots = {0}, .own_copies = true}};
};

TEST(NcclUpdate, IsWhatReplicasOnGpusOfTheirOwnGet) {
  EXPECT_TRUE(on_gpus(2).state()->gradient_update().updates_own_copy());
  EXPECT_FALSE(on_gpus(1).state()->gradient_update().updates_own_copy());
}

TEST(NcclUpdate, ExchangesABucketBeforeBackwardHasEnded) {
  Training training(3);
  training.run(0, {.between = [&] { EXPECT_THAT(training.enqueued_ranges(), IsEmpty()) << "it connects the GPUs"; }});
  EXPECT_THAT(training.enqueued_ranges(), ElementsAre(Training::large, Training::small));
  for (int number = 1; number < 4; ++number) {
    std::mutex mutex;
    std::vector<std::size_t> before_the_end;
    training.run(number, {.between = [&] {
                   get_replica_context().barrier("the middle of backward");
                   const std::lock_guard lock(mutex);
                   for (const std::size_t elements : training.enqueued_ranges()) before_the_end.push_back(elements);
                 }});
    EXPECT_THAT(before_the_end, ElementsAre(Training::large));
    EXPECT_THAT(training.enqueued_ranges(), ElementsAre(Training::small));
  }
}

/// The parameter is the dtype in which gradients are exchanged.
class GradientsOf : public testing::TestWithParam<DType> {};

TEST_P(GradientsOf, HaveTheSameBitsAsAfterBackward) {
  for (const int replicas : {2, 3}) {
    Training beside(replicas, GetParam());
    Training after(replicas, GetParam());
    for (int number = 0; number < 3; ++number) {
      beside.run(number, {});
      collectives();
      after.run(number, {.next = AfterBackward::transform,
                         .between = [&] { EXPECT_THAT(after.enqueued_ranges(), IsEmpty()); }});
    }
    EXPECT_EQ(beside.values(), after.values());
  }
}

TEST_P(GradientsOf, HaveTheSameBitsHoweverSoonGpusExchange) {
  std::array<std::vector<std::vector<float>>, 2> values;
  for (const bool soon : {false, true}) {
    test::pretend_cuda()->defer_work(!soon);
    Training training(2, GetParam());
    for (int number = 0; number < 3; ++number) training.run(number, {});
    values[soon ? 1 : 0] = training.values();
  }
  EXPECT_EQ(values[0], values[1]);
}

TEST_P(GradientsOf, NeedNoMemoryAfterTheFirstSteps) {
  Training training(2, GetParam());
  const auto allocations = [&] {
    std::uint64_t total = 0;
    for (const LogicalDevice& gpu : training.strategy().devices()) total += allocator(gpu).stats().system_allocations;
    return total;
  };
  for (int number = 0; number < 3; ++number) training.run(number, {});
  const std::uint64_t after_warm_up = allocations();
  for (int number = 3; number < 8; ++number) training.run(number, {});
  EXPECT_EQ(allocations(), after_warm_up);
}

INSTANTIATE_TEST_SUITE_P(All, GradientsOf, testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name(info.param)); });

// Each replica's gradient and each partial sum is rounded: by at most 2^-8 of the sum so far.
TEST(NcclUpdate, SumsInBf16StayWithinItsRounding) {
  constexpr std::int64_t elements = 1000;
  for (const int replicas : {2, 3, 5, 8}) {
    const MirroredStrategy strategy = on_gpus(replicas, DType::bf16);
    const Variable variable = strategy.scope([&] { return test::variable_of("v", Tensor::full({elements}, 0)); });
    GradientReducer reducer({variable}, strategy.devices(), {.own_copies = true});
    std::vector<double> sum(elements);
    std::vector<double> magnitude(elements);
    for (int number = 0; number < 3; ++number) {
      for (int replica = 0; replica < replicas; ++replica) {
        const auto own =
            test::random_tensor({elements}, static_cast<unsigned>(8 * number + replica)).to_vector<double>();
        for (std::size_t i = 0; i < elements; ++i) {
          sum[i] += own[i];
          magnitude[i] += std::abs(own[i]);
        }
      }
      strategy.run([&] {
        GradientTape tape;
        const Tensor own = test::random_tensor({elements}, static_cast<unsigned>(8 * number + this_replica()));
        const Tensor loss = lockstep::sum(variable.value() * own);
        reducer.backward(get_replica_context(), tape, loss, AfterBackward::apply);
        reducer.apply(get_replica_context(), [](const UpdateViews& views) {
          launch(kernels::Update{SgdStep{.learning_rate = 1}, views});
        });
      });
      const std::vector<float> values = variable.state().copies().front().to_vector<float>();
      bool differs = false;
      for (std::size_t i = 0; i < elements; ++i) {
        ASSERT_NEAR(values[i], -sum[i], replicas * std::ldexp(magnitude[i], -8)) << i;
        differs = differs || std::abs(values[i] + sum[i]) > std::ldexp(magnitude[i], -16);
      }
      EXPECT_TRUE(differs) << "nothing has been rounded to bf16";
      for (const Tensor& copy : variable.state().copies()) EXPECT_EQ(copy.to_vector<float>(), values);
    }
  }
}

TEST(NcclUpdate, IsTheOnlyOneToExchangeGradientsAsBf16) {
  const MirroredOptions as_bf16{.wire_dtype = DType::bf16};
  EXPECT_ERROR(Unsupported, "not as bf16 between [CPU:0, CPU:1]: leave wire_dtype f32",
               MirroredStrategy(logical_cpus(2), as_bf16));
  EXPECT_ERROR(Unsupported, "by nccl between several GPUs that have a replica each",
               MirroredStrategy(logical_gpus(9), as_bf16));
  EXPECT_ERROR(Unsupported, "not as i32 between [GPU:0, GPU:1]",
               MirroredStrategy(logical_gpus(2), {.wire_dtype = DType::i32}));
}

TEST(NcclUpdate, KeepsTheOrderOfBucketsWhereReplicasUseOtherVariables) {
  const Training::Step differing{.uses_first = [](int replica) { return replica != 1; },
                                 .uses_last = [](int replica) { return replica != 0; }};
  Training training(3);
  Training after(3);
  for (int number = 0; number < 3; ++number) {
    Training::Step step = differing;
    step.next = AfterBackward::transform;
    after.run(number, step);
    EXPECT_THAT(after.enqueued_ranges(), ElementsAre(Training::large, Training::small));
    training.run(number, differing);
    EXPECT_THAT(training.enqueued_ranges(), ElementsAre(Training::large, Training::small));
  }
  EXPECT_EQ(training.values(), after.values());
}

// Replica 1 has submitted the large bucket before backward begins, replica 0 submits it before the other collective,
// replica 2 after it.
TEST(NcclUpdate, KeepsTheOrderOfBucketsAndOtherCollectivesInBackward) {
  const MirroredStrategy strategy = on_gpus(3);
  const auto make = [&](const char* name, std::int64_t elements) {
    return strategy.scope([&] { return test::variable_of(name, test::random_tensor({elements}, 3)); });
  };
  const Variable small = make("small", 16);
  const Variable large = make("large", Training::large);
  GradientReducer reducer({small, large}, strategy.devices(), {.own_copies = true});
  for (int number = 0; number < 3; ++number)
    strategy.run([&] {
      const ReplicaContext context = get_replica_context();
      GradientTape tape;
      const Tensor early = this_replica() == 2 ? sum(large.value()) : Tensor::full({}, 0);
      Tensor loss = sum(context.all_reduce(ReduceOp::sum, small.value())) + early;
      if (this_replica() == 0) loss = loss + sum(large.value());
      reducer.backward(context, tape, loss, AfterBackward::apply);
      reducer.apply(context, [](const UpdateViews& views) {
        launch(kernels::Update{SgdStep{.learning_rate = 1}, views});
      });
    });
  const std::vector<float> start = test::random_tensor({16}, 3).to_vector<float>();
  for (const Tensor& copy : small.state().copies())
    for (std::size_t i = 0; i < start.size(); ++i)
      EXPECT_EQ(copy.to_vector<float>()[i], ((start[i] - 9) - 9) - 9) << "the gradients of three replicas are 3 each";
}

TEST(NcclUpdate, AStepAfterOneThatFailedInBackwardIsWhole) {
  Training failing(3);
  Training well(3);
  for (int number = 0; number < 4; ++number) {
    well.run(number, {});
    if (number == 2) {
      const auto fail_once = [] {
        get_replica_context().barrier("the large bucket is on its way");
        require(this_replica() != 1, "no more of this");
      };
      EXPECT_ERROR(InvalidArgument, "no more of this", failing.run(number, {.between = fail_once}));
    }
    failing.run(number, {});
  }
  EXPECT_EQ(failing.values(), well.values());
}

// bf16 is widened between the replicas' barrier and the submission: a failing launch there leaves the others' parts
// behind.
TEST(NcclUpdate, CombinesAgainAfterACollectiveThatOneReplicaDidNotReach) {
  constexpr int second = 1;
  const MirroredStrategy strategy = on_gpus(2);
  const auto all_reduce = [&] {
    return strategy.run(
        [] { return get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({5}, 1, DType::bf16)); });
  };
  std::int64_t failures = 0;
  for (bool done = false; !done;) {
    test::pretend_cuda()->fail_work(second, failures + 1);
    try {
      all_reduce();
      done = true;
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("replica 1 (GPU:1)"));
      ++failures;
    }
    test::pretend_cuda()->fail_work(second, 0);
    const auto sums = all_reduce();
    for (const Tensor& sum : sums.local_results()) EXPECT_THAT(sum.to_vector<float>(), testing::Each(2));
  }
  EXPECT_GE(failures, 2);
}

/// The result of all_reduce, with one value from each replica.
Tensor reduced(ReduceOp op, const std::vector<Tensor>& values) {
  const auto parts = test::per_replica(static_cast<int>(values.size()),
                                       [&](int replica) { return values[static_cast<std::size_t>(replica)]; });
  const auto results = on_gpus(static_cast<int>(values.size()))
                           .run([&](const Tensor& own) { return get_replica_context().all_reduce(op, own); }, parts);
  for (const Tensor& result : results.local_results()) test::expect_same_bits(result, results[0]);
  return results[0];
}

TEST(NcclUpdate, GivesEveryReplicaWhatAllReduceIsDefinedToBe) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Tensor> floats{Tensor::from(std::vector<float>{1, -2, nan}, {3}),
                                   Tensor::from(std::vector<float>{4, 3, 1}, {3}),
                                   Tensor::from(std::vector<float>{-3, 5, 2}, {3})};
  EXPECT_THAT(reduced(ReduceOp::sum, floats).to_vector<float>(), ElementsAre(2, 6, testing::IsNan()));
  EXPECT_THAT(reduced(ReduceOp::mean, floats).to_vector<float>(), ElementsAre(2.0F / 3, 2, testing::IsNan()));
  EXPECT_THAT(reduced(ReduceOp::prod, floats).to_vector<float>(), ElementsAre(-12, -30, testing::IsNan()));
  EXPECT_THAT(reduced(ReduceOp::max, floats).to_vector<float>(), ElementsAre(4, 5, testing::IsNan()));
  EXPECT_THAT(reduced(ReduceOp::min, floats).to_vector<float>(), ElementsAre(-3, -2, testing::IsNan()));
  const std::vector<Tensor> integers{Tensor::from(std::vector<std::int64_t>{std::int64_t{1} << 40}, {1}),
                                     Tensor::from(std::vector<std::int64_t>{3}, {1})};
  EXPECT_THAT(reduced(ReduceOp::sum, integers).to_vector<std::int64_t>(), ElementsAre((std::int64_t{1} << 40) + 3));
}

// A mean is the sum divided by the number of replicas; NCCL's own mean divides first.
TEST(NcclUpdate, LeavesDividingToNcclWhereThatGivesTheSameBits) {
  for (const int replicas : {2, 3, 4, 5, 8})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      std::vector<Tensor> values;
      std::vector<float> expected(1000);
      for (int replica = 0; replica < replicas; ++replica) {
        values.push_back(cast(test::random_tensor({1000}, static_cast<unsigned>(replica)), dtype));
        const std::vector<float> own = values.back().to_vector<float>();
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += own[i];
      }
      for (float& value : expected) value /= static_cast<float>(replicas);
      collectives();
      test::expect_same_bits(reduced(ReduceOp::mean, values), cast(Tensor::from(expected, {1000}), dtype));
      const bool exact = replicas == 2 || replicas == 4 || replicas == 8;
      EXPECT_THAT(collectives(), ElementsAre(Field(&PretendCollective::operation, exact ? "mean" : "sum"))) << replicas;
    }
}

TEST(NcclUpdate, RefusesReplicasThatShareAGpu) {
  EXPECT_ERROR(Unsupported, "are on 8 physical GPU(s): use other devices or shared-memory",
               MirroredStrategy(logical_gpus(9), {.cross_device_ops = CrossDeviceOps::nccl}));
}

}  // namespace
}  // namespace lockstep
