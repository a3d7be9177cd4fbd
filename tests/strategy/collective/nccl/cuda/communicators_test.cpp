#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/pretend_gpu/cuda/pretend_cuda.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/runtime/thread/context.h>
#include <lockstep/strategy/collective/nccl/gpu_communicators.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/mirrored/mirrored_strategy.h>

// The communicators of NCCL's, and the watchdog over them, on three GPUs of the pretended CUDA.

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr int gpus = 3;

/// A tensor of each GPU's, of its number plus one.
struct Values {
  explicit Values(std::int64_t elements) {
    for (const LogicalDevice& gpu : logical_gpus(gpus)) {
      const ContextScope there(context_on(gpu));
      tensors.push_back(Tensor::full({elements}, static_cast<float>(gpu.index + 1)));
    }
  }
  std::vector<GpuPart> parts(GpuPart::Kind kind = GpuPart::Kind::sum) const {
    std::vector<GpuPart> all;
    for (const Tensor& tensor : tensors)
      all.push_back({.kind = kind,
                     .from = tensor.raw_data(),
                     .to = tensor.raw_data(),
                     .elements = static_cast<std::size_t>(tensor.elements())});
    return all;
  }
  void wait() const {
    for (const Tensor& tensor : tensors) synchronize(tensor.device());
  }

  std::vector<Tensor> tensors;
};

class Nccl : public testing::Test {
 protected:
  ~Nccl() override {
    cuda_.stall_nccl(false);
    cuda_.break_nccl(false);
  }
  static std::unique_ptr<GpuCommunicators> make(std::chrono::milliseconds timeout = 60s) {
    return make_nccl_communicators(logical_gpus(gpus), timeout, nullptr);
  }

  PretendCuda& cuda_ = *pretend_cuda();
};

/// Each replica's part, on its own thread.
void enqueue_each(GpuCommunicators& communicators, const std::vector<GpuPart>& parts) {
  std::vector<std::jthread> replicas;
  for (int replica = 0; replica < gpus; ++replica)
    replicas.emplace_back([&, replica] {
      communicators.enqueue(replica, "a test", std::span(&parts[static_cast<std::size_t>(replica)], 1));
    });
}

TEST_F(Nccl, CombinesWhatAllGpusHave) {
  const auto communicators = make();
  for (int turn = 0; turn < 20; ++turn) {
    const Values summed(1000);
    const Values averaged(7);
    const Values multiplied(7);
    enqueue_each(*communicators, summed.parts());
    enqueue_each(*communicators, averaged.parts(GpuPart::Kind::mean));
    enqueue_each(*communicators, multiplied.parts(GpuPart::Kind::product));
    for (const Tensor& sum : summed.tensors)
      ASSERT_THAT(sum.to_vector<float>(), AllOf(testing::SizeIs(1000), testing::Each(6.0F)));
    for (const Tensor& mean : averaged.tensors) ASSERT_THAT(mean.to_vector<float>(), testing::Each(2.0F));
    for (const Tensor& product : multiplied.tensors) ASSERT_THAT(product.to_vector<float>(), testing::Each(6.0F));
  }
}

TEST_F(Nccl, CombinesBesideWhatIsComputedOnceThatHasComeSoFar) {
  const auto communicators = make();
  for (int turn = 0; turn < 50; ++turn) {
    const Values values(5000);
    std::vector<std::unique_ptr<GpuMark>> marks;
    for (const Tensor& tensor : values.tensors) {
      marks.push_back(make_mark(tensor.device(), GpuQueue::compute));
      marks.back()->set();
      marks.back()->order_before(tensor.device(), GpuQueue::communication);
    }
    communicators->enqueue_for_all("a test", values.parts());
    for (const Tensor& tensor : values.tensors) {
      const auto summed = make_mark(tensor.device(), GpuQueue::communication);
      summed->set();
      summed->order_before(tensor.device(), GpuQueue::compute);
    }
    for (const Tensor& sum : values.tensors) ASSERT_THAT(sum.to_vector<float>(), testing::Each(6.0F));
  }
}

TEST_F(Nccl, ThatDoesNotConnectIsATimeout) {
  cuda_.stall_nccl(true);
  EXPECT_THAT(error_of<Timeout>([] { make(200ms); }),
              AllOf(HasSubstr("NCCL on GPU:0: connecting the GPUs took longer than 0.2 s"), HasSubstr("doctor")));
  cuda_.stall_nccl(false);
  EXPECT_NO_THROW(make());
}

TEST_F(Nccl, ACollectiveThatDoesNotEndIsAbortedAndTold) {
  const auto communicators = make(300ms);
  const Values values(10);
  cuda_.stall_nccl(true);
  communicators->enqueue_for_all("the gradients", values.parts());
  std::vector<std::string> errors;
  for (const Tensor& tensor : values.tensors) {
    for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;) {
      const std::string error = error_of<DeviceError>([&] { synchronize(tensor.device()); });
      if (error.starts_with("GPU:")) errors.push_back(error);
      if (error.starts_with("GPU:")) break;
    }
  }
  EXPECT_THAT(errors, AllOf(testing::SizeIs(gpus), testing::Each(HasSubstr("NCCL's communicators were aborted: the "
                                                                           "gradients on GPU:"))));
  EXPECT_THAT(errors, testing::Each(HasSubstr("did not end within 0.3 s")));
  EXPECT_ERROR(DeviceError,
               "NCCL's communicators were aborted: ", communicators->enqueue_for_all("more", values.parts()));
  EXPECT_NO_THROW(values.wait()) << "it is told once";
}

TEST_F(Nccl, AnErrorOfItsOwnIsTold) {
  const auto communicators = make();
  const Values values(10);
  cuda_.break_nccl(true);
  EXPECT_ERROR(DeviceError, "a test failed: ", communicators->enqueue_for_all("a test", values.parts()));
  cuda_.break_nccl(false);
}

TEST_F(Nccl, TheWatchdogSeesAnErrorThatNobodyAsksFor) {
  const auto communicators = make();
  const Values values(10);
  cuda_.break_nccl(true);
  std::string error;
  for (const auto end = std::chrono::steady_clock::now() + 60s;
       error.empty() && std::chrono::steady_clock::now() < end;)
    try {
      values.wait();
    } catch (const DeviceError& thrown) {
      error = thrown.what();
    }
  EXPECT_THAT(error, HasSubstr("NCCL's communicators were aborted: GPU:0: "));
}

TEST_F(Nccl, WhatOneReplicaDoesNotComeToIsAborted) {
  const auto communicators = make();
  const Values values(10);
  const std::vector<GpuPart> parts = values.parts();
  communicators->enqueue(0, "a test", std::span(&parts[0], 1));
  communicators->enqueue(1, "a test", std::span(&parts[1], 1));
  communicators->abandon_step();
  EXPECT_ERROR(DeviceError, "a replica failed before its part of a collective", synchronize(logical_gpus(2)[1]));
  EXPECT_ERROR(DeviceError, "were aborted", communicators->enqueue(2, "a test", std::span(&parts[2], 1)));
}

TEST_F(Nccl, AStrategysStepEndsWithTheErrorOfACollectiveThatDoesNot) {
  const MirroredStrategy strategy(logical_gpus(gpus), {.timeout = 500ms});
  const auto step = [&] {
    strategy.run(
        [] { return get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({4}, 1)).to_vector<float>(); });
  };
  EXPECT_NO_THROW(step());
  cuda_.stall_nccl(true);
  EXPECT_ERROR(DeviceError, "did not end within 0.5 s", step());
  cuda_.stall_nccl(false);
  EXPECT_ERROR(DeviceError, "were aborted", step());
  const MirroredStrategy next(logical_gpus(gpus));
  EXPECT_NO_THROW(next.run([] { get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({4}, 1)); }));
}

}  // namespace
}  // namespace lockstep::test
