#include <algorithm>
#include <chrono>
#include <deque>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/pretend_gpu/pretend_cuda.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/cuda/gpu.h>
#include <lockstep/runtime/device/gpu_capture.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/comm/nccl/gpu_communicators.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

// NCCL communicators and their watchdog, for one GPU and for all GPUs: real ones, or three of the pretended CUDA, where
// NCCL also fails on demand.

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::Each;
using testing::HasSubstr;

/// A tensor on each GPU, filled with the GPU's number plus one.
struct Values {
  Values(int gpus, std::int64_t elements, DType dtype = DType::f32) {
    for (const LogicalDevice& gpu : logical_gpus(gpus)) {
      const ContextScope there(context_on(gpu));
      tensors.push_back(Tensor::full({elements}, static_cast<float>(gpu.index + 1), dtype));
    }
  }
  /// A collective's part for each GPU.
  std::vector<std::vector<GpuPart>> parts(GpuPart::Kind kind = GpuPart::Kind::sum) const {
    std::vector<std::vector<GpuPart>> all;
    for (const Tensor& tensor : tensors)
      all.push_back({{.kind = kind,
                      .dtype = tensor.dtype(),
                      .from = tensor.raw_data(),
                      .to = tensor.raw_data(),
                      .elements = static_cast<std::size_t>(tensor.elements())}});
    return all;
  }
  void wait() const {
    for (const Tensor& tensor : tensors) synchronize(tensor.device());
  }

  std::vector<Tensor> tensors;
};

std::unique_ptr<GpuCommunicators> make(int gpus, std::chrono::milliseconds timeout = 60s) {
  return make_gpu_communicators(logical_gpus(gpus), timeout, nullptr);
}

/// Waits for the error that the watchdog leaves on a GPU; empty if none comes within a minute.
std::string watchdog_error(const LogicalDevice& device) {
  for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;) {
    try {
      gpu(device).synchronize();
    } catch (const DeviceError& thrown) {
      return thrown.what();
    }
  }
  return {};
}

std::vector<std::string> watchdog_errors(const Values& values) {
  std::vector<std::string> errors;
  for (const Tensor& tensor : values.tensors) errors.push_back(watchdog_error(tensor.device()));
  return errors;
}

/// Enqueues a collective after the work that its GPUs' compute streams have now; later work waits for it.
void run(GpuCommunicators& communicators, const std::vector<std::vector<GpuPart>>& parts) {
  const std::vector<LogicalDevice> gpus = logical_gpus(static_cast<int>(parts.size()));
  for (const LogicalDevice& own : gpus) {
    Event computed(own);
    computed.record({own});
    Stream{own, StreamKind::communication}.wait(computed);
  }
  communicators.enqueue("a test", parts);
  for (const LogicalDevice& own : gpus) {
    Event done(own);
    done.record({own, StreamKind::communication});
    Stream{own}.wait(done);
  }
}

/// Blocks a GPU's communication stream until released.
class HeldStream {
 public:
  explicit HeldStream(const LogicalDevice& device) {
    gpu(device).make_current();
    const auto wait = [](void* held) { static_cast<HeldStream*>(held)->released_.wait(); };
    check_cuda(cudaLaunchHostFunc(gpu(device).own_stream(StreamKind::communication), wait, this), "cudaLaunchHostFunc");
  }
  ~HeldStream() { release(); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;
  void release() {
    if (!std::exchange(is_released_, true)) released_.count_down();
  }

 private:
  std::latch released_{1};
  bool is_released_ = false;
};

class Nccl : public testing::TestWithParam<int> {
 protected:
  const int gpus_ = std::min(GetParam(), gpu_platform().count());
  const float sum_ = static_cast<float>(gpus_ * (gpus_ + 1)) / 2;
};

INSTANTIATE_TEST_SUITE_P(Of, Nccl, testing::Values(1, 8),
                         [](const auto& info) { return info.param == 1 ? "OneGpu" : "AllGpus"; });

TEST_P(Nccl, CombinesWhatAllGpusHave) {
  const auto communicators = make(gpus_);
  float product = 1;
  for (int factor = 2; factor <= gpus_; ++factor) product *= static_cast<float>(factor);
  for (int turn = 0; turn < 20; ++turn) {
    const Values summed(gpus_, 1000);
    const Values averaged(gpus_, 7);
    const Values multiplied(gpus_, 7);
    std::vector<std::vector<GpuPart>> all = summed.parts();
    for (const auto& [values, kind] :
         {std::pair(&averaged, GpuPart::Kind::mean), {&multiplied, GpuPart::Kind::product}})
      for (std::size_t gpu = 0; gpu < all.size(); ++gpu) all[gpu].push_back(values->parts(kind)[gpu].front());
    run(*communicators, all);
    for (const Tensor& sum : summed.tensors)
      ASSERT_THAT(sum.to_vector<float>(), AllOf(testing::SizeIs(1000), Each(sum_)));
    const auto mean = testing::FloatEq(sum_ / static_cast<float>(gpus_));
    for (const Tensor& values : averaged.tensors) ASSERT_THAT(values.to_vector<float>(), Each(mean));
    for (const Tensor& values : multiplied.tensors) ASSERT_THAT(values.to_vector<float>(), Each(product));
  }
}

TEST_P(Nccl, TakesEveryDtypeThatIsCombined) {
  const auto communicators = make(gpus_);
  for (const DType dtype : {DType::bf16, DType::i32, DType::i64}) {
    const Values values(gpus_, 1001, dtype);
    run(*communicators, values.parts());
    for (const Tensor& sum : values.tensors) EXPECT_THAT(sum.to_vector<float>(), Each(sum_)) << name(dtype);
  }
}

TEST_P(Nccl, GathersGpuByGpu) {
  const auto communicators = make(gpus_);
  const Values values(gpus_, 5);
  const Values results(gpus_, 5 * gpus_);
  std::vector<std::vector<GpuPart>> parts = values.parts(GpuPart::Kind::gather);
  for (std::size_t replica = 0; replica < parts.size(); ++replica)
    parts[replica].front().to = results.tensors[replica].raw_data();
  run(*communicators, parts);
  std::vector<float> expected;
  for (int gpu = 0; gpu < gpus_; ++gpu) expected.insert(expected.end(), 5, static_cast<float>(gpu + 1));
  for (const Tensor& gathered : results.tensors) EXPECT_EQ(gathered.to_vector<float>(), expected);
}

TEST_P(Nccl, CombinesBesideWhatIsComputedOnceThatHasComeSoFar) {
  const auto communicators = make(gpus_);
  for (int turn = 0; turn < 50; ++turn) {
    const Values values(gpus_, 5000);
    run(*communicators, values.parts());
    for (const Tensor& sum : values.tensors) ASSERT_THAT(sum.to_vector<float>(), Each(sum_));
  }
}

TEST_P(Nccl, CombinesWhileAnotherThreadCaptures) {
  const auto communicators = make(gpus_);
  const Values values(gpus_, 1000);
  values.wait();
  const LogicalDevice first = logical_gpus(1).front();
  const ContextScope there(context_on(first));
  const Tensor captured = Tensor::full({4}, 1);
  const Tensor copied = Tensor::full({4}, 0);
  CapturedWork work;
  {
    GpuCapture capture(first);
    copy(captured, copied);
    std::jthread([&] {
      communicators->enqueue("a test", values.parts());
      values.wait();
    }).join();
    work = capture.take();
  }
  work.launch();
  EXPECT_THAT(copied.to_vector<float>(), Each(1.0F));
  for (const Tensor& sum : values.tensors) EXPECT_THAT(sum.to_vector<float>(), Each(sum_));
}

TEST_P(Nccl, EndsWhatIsUnderWayBeforeItIsDestroyed) {
  const Values values(gpus_, 1000);
  values.wait();
  auto communicators = make(gpus_);
  std::deque<HeldStream> held;
  for (const LogicalDevice& device : logical_gpus(gpus_)) held.emplace_back(device);
  communicators->enqueue("a test", values.parts());
  const std::jthread release([&] {
    std::this_thread::sleep_for(20ms);
    for (HeldStream& stream : held) stream.release();
  });
  communicators.reset();
  values.wait();
  for (const Tensor& sum : values.tensors) EXPECT_THAT(sum.to_vector<float>(), Each(sum_));
}

TEST_P(Nccl, TheWatchdogAbortsBehindWorkThatDoesNotEnd) {
  const auto communicators = make(gpus_, 3s);
  const Values values(gpus_, 10);
  values.wait();
  std::deque<HeldStream> held;
  for (const LogicalDevice& device : logical_gpus(gpus_)) held.emplace_back(device);
  communicators->enqueue("the gradients", values.parts());
  EXPECT_THAT(watchdog_error(logical_gpus(1).front()),
              ContainsRegex("NCCL's communicators were aborted: the gradients on GPU:[0-9]+ did not end within 3 s"));
  for (HeldStream& stream : held) stream.release();
  EXPECT_ERROR(DeviceError, "NCCL's communicators were aborted: ", communicators->enqueue("more", values.parts()));
  const Values next(gpus_, 10);
  EXPECT_NO_THROW(make(gpus_)->enqueue("the next strategy's", next.parts()));
}

TEST_P(Nccl, IsOneSetForRunsInsideMergesToo) {
  const MirroredStrategy strategy(logical_gpus(gpus_), {.cross_device_ops = CrossDeviceOps::nccl});
  const auto all_reduce = [] {
    return get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({4}, 1)).to_vector<float>();
  };
  PretendCuda* const cuda = pretend_cuda();
  const std::int64_t made = cuda == nullptr ? 0 : cuda->calls("ncclCommInitRankConfig");
  const std::vector<float> expected(4, static_cast<float>(gpus_));
  for (int turn = 0; turn < 3; ++turn)
    strategy.run([&] {
      EXPECT_EQ(all_reduce(), expected);
      get_replica_context().merge_call([&](const Strategy& merged) {
        const auto inside = merged.run(all_reduce);
        for (int replica = 0; replica < gpus_; ++replica) EXPECT_EQ(inside[replica], expected);
      });
      EXPECT_EQ(all_reduce(), expected);
    });
  if (cuda != nullptr) {
    EXPECT_EQ(cuda->calls("ncclCommInitRankConfig"), made);
  }
}

/// NCCL that fails on demand, between three GPUs.
class PretendedNccl : public testing::Test {
 protected:
  static constexpr int gpus = 3;
  ~PretendedNccl() override {
    cuda_.stall_nccl(false);
    cuda_.stall_nccl_calls(false);
    cuda_.break_nccl(false);
  }

  PretendCuda& cuda_ = *pretend_cuda();
};

TEST_F(PretendedNccl, ThatDoesNotConnectIsATimeout) {
  cuda_.stall_nccl(true);
  EXPECT_THAT(error_of<Timeout>([] { make(gpus, 200ms); }),
              AllOf(HasSubstr("NCCL on GPU:0: connecting the GPUs took longer than 0.2 s"), HasSubstr("doctor")));
  cuda_.stall_nccl(false);
  EXPECT_NO_THROW(make(gpus));
}

TEST_F(PretendedNccl, ACollectiveThatDoesNotEndIsAbortedAndTold) {
  const auto communicators = make(gpus, 300ms);
  const Values values(gpus, 10);
  const std::int64_t revoked = cuda_.calls("ncclCommRevoke");
  cuda_.stall_nccl(true);
  communicators->enqueue("the gradients", values.parts());
  const std::vector<std::string> errors = watchdog_errors(values);
  EXPECT_EQ(cuda_.calls("ncclCommRevoke") - revoked, gpus);
  EXPECT_THAT(errors, AllOf(testing::SizeIs(gpus), Each(HasSubstr("NCCL's communicators were aborted: the "
                                                                  "gradients on GPU:"))));
  EXPECT_THAT(errors, Each(HasSubstr("did not end within 0.3 s")));
  EXPECT_ERROR(DeviceError, "NCCL's communicators were aborted: ", communicators->enqueue("more", values.parts()));
  EXPECT_NO_THROW(values.wait()) << "it is thrown once";
}

TEST_F(PretendedNccl, ACallThatDoesNotEndIsAbortedAndTold) {
  auto communicators = make(gpus, 300ms);
  const Values values(gpus, 10);
  const std::int64_t aborted = cuda_.calls("ncclCommAbort");
  const std::int64_t revoked = cuda_.calls("ncclCommRevoke");
  cuda_.stall_nccl_calls(true);
  EXPECT_ERROR(Timeout, "NCCL on GPU:0: the gradients took longer than 0.3 s",
               communicators->enqueue("the gradients", values.parts()));
  EXPECT_THAT(
      watchdog_errors(values),
      AllOf(testing::SizeIs(gpus), Each(HasSubstr("NCCL's communicators were aborted: NCCL did not complete the "
                                                  "gradients on GPU:0"))));
  EXPECT_ERROR(DeviceError, "NCCL's communicators were aborted: ", communicators->enqueue("more", values.parts()));
  communicators.reset();
  EXPECT_EQ(cuda_.calls("ncclCommAbort") - aborted, gpus);
  EXPECT_EQ(cuda_.calls("ncclCommRevoke"), revoked) << "NCCL would use the call's memory after freeing it";
  cuda_.stall_nccl_calls(false);
  for (std::size_t gpu = 0; gpu < gpus; ++gpu)
    EXPECT_THAT(values.tensors[gpu].to_vector<float>(), Each(static_cast<float>(gpu + 1))) << "nothing came later";
}

// Another strategy may use the GPUs by then.
TEST_F(PretendedNccl, AnAbandonedCallThatFailsLaterMarksNoGpu) {
  auto communicators = make(gpus, 300ms);
  const Values values(gpus, 10);
  const std::int64_t aborted = cuda_.calls("ncclCommAbort");
  communicators->abandon();
  cuda_.stall_nccl_calls(true);
  EXPECT_ERROR(Timeout, "NCCL on GPU:0: the gradients took longer than 0.3 s",
               communicators->enqueue("the gradients", values.parts()));
  communicators.reset();
  EXPECT_EQ(cuda_.calls("ncclCommAbort") - aborted, gpus);
  EXPECT_NO_THROW(values.wait());
}

TEST_F(PretendedNccl, AStepThatFailsOnOneGpuIsAbortedOnAll) {
  const auto communicators = make(gpus);
  const Values values(gpus, 10);
  values.wait();
  cuda_.fail("cudaSetDevice", 2, cudaErrorLaunchFailure);
  EXPECT_ERROR(DeviceError, "cudaSetDevice failed", communicators->enqueue("a test", values.parts()));
  EXPECT_THAT(watchdog_errors(values), AllOf(testing::SizeIs(gpus), Each(HasSubstr("NCCL did not complete a test"))));
}

TEST_F(PretendedNccl, AnErrorOfItsOwnIsTold) {
  const auto communicators = make(gpus);
  const Values values(gpus, 10);
  cuda_.break_nccl(true);
  EXPECT_ERROR(DeviceError, "a test failed: ", communicators->enqueue("a test", values.parts()));
  cuda_.break_nccl(false);
}

TEST_F(PretendedNccl, TheWatchdogSeesAnErrorThatNobodyAsksFor) {
  const auto communicators = make(gpus);
  const Values values(gpus, 10);
  cuda_.break_nccl(true);
  EXPECT_THAT(watchdog_error(values.tensors.front().device()), HasSubstr("NCCL's communicators were aborted: GPU:0: "));
}

TEST_F(PretendedNccl, AStrategysStepEndsWithTheErrorOfACollectiveThatDoesNot) {
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
