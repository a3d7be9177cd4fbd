#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/strategy/comm/cluster/cluster.h>

// Communication between workers started by mpirun; see support/workers.h.

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Workers : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(cluster_, nullptr) << "start this program with mpirun"; }

  std::shared_ptr<Cluster> cluster_ = join_cluster({.timeout = std::chrono::seconds(60)});
  const int size_ = cluster_ ? cluster_->size() : 0;
  const int rank_ = cluster_ ? cluster_->rank() : 0;
};

/// The message from worker `from` to worker `to`: another length and content for each pair.
std::vector<std::byte> message(int from, int to) {
  return std::vector<std::byte>(static_cast<std::size_t>(1 + 1000 * from + 70000 * to), std::byte(16 * from + to));
}

TEST_F(Workers, AllGatherGivesEveryTextInWorkerOrder) {
  std::vector<std::string> expected;
  for (int worker = 0; worker < size_; ++worker) expected.push_back(std::string(static_cast<std::size_t>(worker), 'x'));
  EXPECT_EQ(cluster_->all_gather("here", expected[static_cast<std::size_t>(rank_)]), expected);
}

TEST_F(Workers, ExchangeBringsEachMessageToWhomItIsFor) {
  std::vector<std::vector<std::byte>> sent;
  std::vector<std::vector<std::byte>> received;
  std::vector<std::span<const std::byte>> to;
  std::vector<std::span<std::byte>> from;
  for (int worker = 0; worker < size_; ++worker) {
    sent.push_back(message(rank_, worker));
    received.emplace_back(message(worker, rank_).size());
  }
  for (int worker = 0; worker < size_; ++worker) {
    to.emplace_back(sent[static_cast<std::size_t>(worker)]);
    from.emplace_back(received[static_cast<std::size_t>(worker)]);
  }
  cluster_->exchange("here", to, from);
  for (int worker = 0; worker < size_; ++worker)
    if (worker != rank_) {
      EXPECT_EQ(received[static_cast<std::size_t>(worker)], message(worker, rank_)) << worker;
    }
}

TEST_F(Workers, BroadcastGivesAllWhatTheChiefHas) {
  for (const std::size_t size : {0UL, 1UL, 4096UL, 4097UL, 1000003UL}) {
    std::vector<std::byte> expected(size);
    for (std::size_t i = 0; i < size; ++i) expected[i] = std::byte((i * 7) % 251);
    std::vector<std::byte> bytes = cluster_->is_chief() ? expected : std::vector<std::byte>(size, std::byte(255));
    cluster_->broadcast("here", bytes);
    EXPECT_EQ(bytes, expected) << size;
  }
}

TEST_F(Workers, DisagreementIsToldOnAllAndEndsNothing) {
  cluster_->agree("here", "the color is", "red");
  EXPECT_THAT(
      test::error_of<InvalidArgument>([&] { cluster_->agree("here", "the color is", rank_ == 1 ? "blue" : "red"); }),
      AllOf(HasSubstr("the color is red on worker 0 (host "), HasSubstr("blue on worker 1 (host ")));
  EXPECT_ERROR(Unsupported, "worker 1 (host ", notify_on_failure(cluster_.get(), [&] {
                 cluster_->fail_together<Unsupported>("here", rank_ == 1 ? "no such thing" : "");
               }));
  cluster_->agree("here", "the color is", "green");
}

TEST_F(Workers, AReportIsThrownOnAllAndEndsNothing) {
  const auto call = [&] {
    report_on_failure(cluster_.get(), [&] {
      if (rank_ == 1) throw std::runtime_error("the disk is full\nframe #0: write");
    });
    cluster_->agree("here", "the color is", "red");
  };
  if (rank_ == 1)
    EXPECT_ERROR(std::runtime_error, "the disk is full", call());
  else
    EXPECT_THAT(test::error_of<InvalidArgument>(call),
                AllOf(HasSubstr("worker 1 (host "), testing::EndsWith(": the disk is full")));
  EXPECT_ERROR(Unsupported, fmt::format("worker {} (host ", rank_),
               report_on_failure(cluster_.get(), [] { fail<Unsupported>("no such thing"); }));
  cluster_->agree("here", "the color is", "green");
}

TEST_F(Workers, BeingAtDifferentPlacesIsToldOnAll) {
  EXPECT_THAT(test::error_of<LogicError>([&] { cluster_->all_gather(rank_ == 1 ? "there" : "here", ""); }),
              AllOf(HasSubstr("worker 0 (host "), HasSubstr("is at here"), HasSubstr("is at there")));
  cluster_->agree("here", "the color is", "green");
}

TEST_F(Workers, AFailureReachesAllWithItsReason) {
  if (rank_ == 1) {
    cluster_->fail_all("the disk is full\nframe #0: write");
    EXPECT_ERROR(WorkerFailed, "the disk is full", cluster_->all_gather("here", ""));
  } else {
    EXPECT_THAT(test::error_of<WorkerFailed>([&] { cluster_->all_gather("here", ""); }),
                AllOf(HasSubstr("worker 1 (host "), testing::EndsWith("failed: the disk is full")));
  }
  EXPECT_ERROR(WorkerFailed, "the disk is full", cluster_->agree("here", "the color is", "green"));
}

TEST_F(Workers, OneThatEndsIsNotWaitedFor) {
  if (rank_ == 1) {
    cluster_.reset();
    return;
  }
  EXPECT_THAT(
      test::error_of<WorkerFailed>([&] { cluster_->all_gather("the last collective", ""); }),
      AllOf(HasSubstr("worker 1 (host "), HasSubstr("ended while others waited for it at the last collective")));
}

TEST_F(Workers, OneThatIsLateIsNamed) {
  const std::shared_ptr<Cluster> impatient = join_cluster({.timeout = std::chrono::seconds(2)});
  while (rank_ == 1 && impatient->failure().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_ERROR(Error, "worker 1", impatient->all_gather("here", ""));
}

TEST_F(Workers, TimeoutsHaveToBeTheSame) {
  if (size_ == 2) {
    EXPECT_ERROR(InvalidArgument, "the longest wait is",
                 join_cluster({.timeout = std::chrono::seconds(rank_ == 1 ? 10 : 20)}));
  }
}

}  // namespace
}  // namespace lockstep
