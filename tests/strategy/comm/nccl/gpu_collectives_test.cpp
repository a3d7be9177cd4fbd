#include <chrono>
#include <latch>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/comm/nccl/gpu_collectives.h>

namespace lockstep::test {
namespace {

/// Two GPUs whose communicators fail on demand, and the values of two collectives on each.
class TwoGpus : public testing::Test {
 protected:
  class Communicators final : public GpuCommunicators {
   public:
    explicit Communicators(TwoGpus& test, std::shared_ptr<void> on_end = {})
        : test_(test), on_end_(std::move(on_end)) {}
    int ranks() const override { return working_->ranks(); }
    void enqueue(const char* what, std::span<const std::vector<GpuPart>> parts) override {
      test_.names_.emplace_back(what);
      if (test_.held_ != nullptr) test_.held_->wait();
      require<DeviceError>(what != test_.fails_, "{} failed", what);
      working_->enqueue(what, parts);
    }
    void abandon() override { test_.abandoned_ = true; }

   private:
    TwoGpus& test_;
    const std::shared_ptr<void> on_end_;  ///< before `working_`, which it must outlive
    const std::unique_ptr<GpuCommunicators> working_ =
        make_gpu_communicators(test_.gpus_, std::chrono::seconds(30), nullptr);
  };

  ~TwoGpus() override {
    collectives_.wait_until_enqueued();
    for (const LogicalDevice& gpu : gpus_) synchronize(gpu);  // before the memory is freed
  }
  /// Both replicas set their parts.
  void set(GpuCollective& collective, double first, double second) {
    for (const int replica : {0, 1}) {
      const Tensor own = (&collective == &one_ ? values_ : other_values_)[static_cast<std::size_t>(replica)];
      copy(Tensor::full({3}, replica == 0 ? first : second), own);
      const GpuPart part{.from = own.raw_data(), .to = own.raw_data(), .elements = 3};
      collectives_.set_parts(collective, replica, std::span(&part, 1));
    }
  }
  std::vector<float> value(int replica) const { return values_[static_cast<std::size_t>(replica)].to_vector<float>(); }

  const std::vector<LogicalDevice> gpus_ = logical_gpus(2);
  std::vector<Tensor> made() const {
    return {Tensor::empty({3}, DType::f32, gpus_[0]), Tensor::empty({3}, DType::f32, gpus_[1])};
  }
  const std::vector<Tensor> values_ = made();  ///< parts of `one_`, by replica
  const std::vector<Tensor> other_values_ = made();
  std::string_view fails_{};
  std::latch* held_ = nullptr;  ///< calls wait for it
  bool abandoned_ = false;
  std::vector<std::string> names_{};
  GpuCollectives collectives_{gpus_, std::make_unique<Communicators>(*this), std::chrono::seconds(30)};
  GpuCollective one_{gpus_};
  GpuCollective other_{gpus_};
};

TEST_F(TwoGpus, GetTheSumsOnceTheirReplicasHaveJoined) {
  for (const double value : {1.0, 2.0}) {
    set(one_, value, 10);
    collectives_.submit("a sum", one_);
    for (const int replica : {0, 1}) {
      collectives_.join(replica);
      EXPECT_THAT(this->value(replica), testing::Each(value + 10));
    }
  }
  EXPECT_EQ(collectives_.submitted(), 2U);
}

TEST_F(TwoGpus, CollectivesAreEnqueuedInTheOrderOfTheirSubmission) {
  set(one_, 1, 1);
  set(other_, 1, 1);
  for (int turn = 0; turn < 50; ++turn) {
    collectives_.submit("one", one_);
    collectives_.submit("other", other_);
  }
  collectives_.wait_until_enqueued();
  ASSERT_EQ(names_.size(), 100U);
  for (std::size_t i = 0; i < names_.size(); ++i) EXPECT_EQ(names_[i], i % 2 == 0 ? "one" : "other");
}

TEST_F(TwoGpus, AnErrorReachesTheFirstReplicaToJoinAndNothingIsEnqueuedBeforeThat) {
  fails_ = "one";
  set(one_, 1, 2);
  set(other_, 1, 2);
  collectives_.submit("one", one_);
  collectives_.submit("other", other_);
  EXPECT_ERROR(DeviceError, "one failed", collectives_.join(1));
  EXPECT_NO_THROW(collectives_.join(0));
  EXPECT_THAT(names_, testing::ElementsAre("one"));
  collectives_.submit("other", other_);
  for (const int replica : {0, 1}) collectives_.join(replica);
  EXPECT_THAT(other_values_[0].to_vector<float>(), testing::Each(3));
}

TEST_F(TwoGpus, TheErrorOfAnAbandonedStepIsDropped) {
  fails_ = "one";
  set(one_, 1, 2);
  collectives_.submit("one", one_);
  collectives_.abandon_step();
  EXPECT_NO_THROW(collectives_.join(0));
}

TEST_F(TwoGpus, ACallThatDoesNotEndIsATimeoutAndLeavesNoUsableCollectives) {
  std::latch released(1);
  held_ = &released;
  set(one_, 1, 2);
  {
    GpuCollectives stuck(gpus_, std::make_unique<Communicators>(*this), std::chrono::milliseconds(200));
    stuck.submit("a sum", one_);
    EXPECT_ERROR(Timeout, "NCCL has not enqueued 1 of 1 collectives within 0.4 s", stuck.join(0));
    stuck.abandon_step();
    EXPECT_ERROR(DeviceError, "NCCL is still in a call of a step that failed", stuck.set_parts(other_, 0, {}));
    released.count_down();
    int waits = 0;  // a busy machine may take longer than one
    for (bool is_stuck = true; is_stuck && waits < 30; ++waits) try {
        stuck.abandon_step();
        stuck.set_parts(other_, 0, {});
        is_stuck = false;
      } catch (const DeviceError&) {
      }
    EXPECT_LT(waits, 30);
  }
  held_ = nullptr;
}

TEST_F(TwoGpus, ACallThatDoesNotReturnIsNotWaitedForAtTheEnd) {
  std::latch released(1);
  std::latch ended(1);
  held_ = &released;
  set(one_, 1, 2);
  std::shared_ptr<void> on_end(nullptr, [&](void*) { ended.count_down(); });
  {
    GpuCollectives stuck(gpus_, std::make_unique<Communicators>(*this, std::move(on_end)),
                         std::chrono::milliseconds(20));
    GpuCollective own(gpus_);
    stuck.set_parts(own, 0, {});
    stuck.set_parts(own, 1, {});
    stuck.submit("a sum", one_);
    stuck.submit("another", own);
  }
  EXPECT_TRUE(abandoned_);
  released.count_down();
  ended.wait();  // the thread has returned from the call and has ended
  EXPECT_THAT(names_, testing::ElementsAre("a sum"));
  held_ = nullptr;
}

TEST_F(TwoGpus, WhatIsSubmittedIsEnqueuedBeforeTheEnd) {
  set(one_, 4, 5);
  {
    GpuCollectives ending(gpus_, std::make_unique<Communicators>(*this), std::chrono::seconds(30));
    for (int turn = 0; turn < 20; ++turn) ending.submit("a sum", one_);
  }
  EXPECT_EQ(names_.size(), 20U);
}

}  // namespace
}  // namespace lockstep::test
