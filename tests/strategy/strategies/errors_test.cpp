#include <atomic>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>

#include <lockstep/strategy/strategies/mirrored_strategy.h>

// When a replica fails, ends early or is late, no replica may hang, the cause must be reported, and the strategy must
// stay usable.

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor all_reduce_one() { return get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({}, 1)); }

void expect_usable(const MirroredStrategy& strategy) {
  const auto sums = strategy.run(all_reduce_one);
  for (const Tensor& sum : sums.local_results())
    EXPECT_EQ(sum.item<float>(), static_cast<float>(strategy.num_replicas_in_sync()));
}

class ErrorsOfReplicas : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const int last_ = replicas_ - 1;
  const MirroredStrategy strategy_ = mirrored(replicas_);
};

// semantics 3.5, 15.10: rethrown with its type, naming replica and device
TEST_P(ErrorsOfReplicas, TheFirstOneReachesTheCallerAndReleasesTheOthers) {
  std::atomic<int> released = 0;
  const auto step = [&] {
    if (this_replica() == last_) fail<InputError>("boom");
    try {
      all_reduce_one();
    } catch (const Aborted& error) {
      EXPECT_THAT(error.what(), HasSubstr("boom"));
      ++released;
      throw;
    }
  };
  for (int repeat = 0; repeat < 5; ++repeat) {
    released = 0;
    EXPECT_THAT([&] { strategy_.run(step); },
                ThrowsMessage<InputError>(
                    AllOf(HasSubstr(fmt::format("replica {} ({})", last_,
                                                strategy_.devices()[static_cast<std::size_t>(last_)].name())),
                          HasSubstr("boom"))));
    EXPECT_EQ(released, replicas_ - 1);
    expect_usable(strategy_);
  }
}

// semantics 3.5
TEST_P(ErrorsOfReplicas, ForeignExceptionsKeepTheirTypes) {
  EXPECT_THAT(
      [&] {
        strategy_.run([&] {
          if (this_replica() == last_) throw std::out_of_range("not ours");
          all_reduce_one();
        });
      },
      ThrowsMessage<std::out_of_range>("not ours"));
  EXPECT_THROW(strategy_.run([&] {
    if (this_replica() == last_) throw 42;
    all_reduce_one();
  }),
               int);
  expect_usable(strategy_);
}

TEST_P(ErrorsOfReplicas, AllFailingAtOnceIsOneError) {
  EXPECT_THROW(strategy_.run([] { fail<OutOfMemory>("each of us"); }), OutOfMemory);
  expect_usable(strategy_);
}

TEST_P(ErrorsOfReplicas, OneThatAReplicaHandlesIsNone) {
  strategy_.run([] {
    try {
      fail("handled");
    } catch (const InvalidArgument&) {
    }
    all_reduce_one();
  });
}

INSTANTIATE_TEST_SUITE_P(Replicas, ErrorsOfReplicas, testing::ValuesIn(test::replica_counts));

class ReplicasApart : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
};

// semantics 3.4, 3.7
TEST_P(ReplicasApart, OneThatEndsWhileOthersWaitIsALogicError) {
  const MirroredStrategy strategy = mirrored(replicas_);
  for (int repeat = 0; repeat < 5; ++repeat) {
    EXPECT_THAT(
        [&] {
          strategy.run([] {
            if (this_replica() == 1) return;
            all_reduce_one();
          });
        },
        ThrowsMessage<LogicError>(AllOf(HasSubstr("all_reduce"), HasSubstr("replica(s) 1 "))));
    expect_usable(strategy);
  }
}

// semantics 3.7
TEST_P(ReplicasApart, OneThatIsAtAnotherCollectiveIsALogicError) {
  const MirroredStrategy strategy = mirrored(replicas_);
  EXPECT_THAT(
      [&] {
        strategy.run([] {
          const ReplicaContext context = get_replica_context();
          if (this_replica() == 1)
            context.barrier("the other branch");
          else
            context.barrier("this branch");
        });
      },
      ThrowsMessage<LogicError>(AllOf(HasSubstr("is at "), HasSubstr("the other branch"), HasSubstr("this branch"))));
  expect_usable(strategy);
}

TEST_P(ReplicasApart, OneThatIsLateIsNamedWhenTheOthersStopWaiting) {
  // Long enough for GPUs to connect on a busy machine.
  const MirroredStrategy strategy = mirrored(replicas_, std::chrono::milliseconds(250));
  const auto leave_replica_1_out = [&] {
    std::atomic<bool> given_up = false;
    strategy.run([&] {
      if (this_replica() == 1) {  // does not arrive until another replica has timed out
        while (!given_up) std::this_thread::yield();
        return;
      }
      try {
        all_reduce_one();
      } catch (...) {
        given_up = true;
        throw;
      }
    });
  };
  // On a busy machine other replicas may be late too.
  EXPECT_THAT(leave_replica_1_out, ThrowsMessage<Timeout>(AllOf(
                                       HasSubstr("all_reduce"), HasSubstr("250 ms"),
                                       testing::ContainsRegex("replica\\(s\\) ([0-9], )*1(, [0-9])*; replica 0: "))));
}

INSTANTIATE_TEST_SUITE_P(Replicas, ReplicasApart, testing::Values(2, 3, 4, 5, 8));

}  // namespace
}  // namespace lockstep
