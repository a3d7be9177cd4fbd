// What lockstep doctor tries, on pretended GPUs of which something is wrong.

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/pretend_gpu/communicators.h>
#include <support/pretend_gpu/kernels.h>
#include <tools/cli/doctor_trials.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep::cli {
namespace {

using test::PretendGpuPlatform;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using Level = Finding::Level;

constexpr int gpus = 3;

/// Three GPUs. Copies from the first to the second can be made to go astray, as behind an IOMMU.
class Gpus final : public PretendGpuPlatform {
 public:
  Gpus() : PretendGpuPlatform({{1, 2}, {0, 2}, {0, 1}}) {}
  void copy(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
            std::size_t bytes) override {
    PretendGpuPlatform::copy(to, destination, from, source, bytes);
    if (!astray || source != logical_gpus(gpus)[0] || destination != logical_gpus(gpus)[1]) return;
    const test::DeviceMemory::Access access(memory());
    static_cast<unsigned char*>(to)[bytes - 1] ^= 1;
  }
  using PretendGpuPlatform::memory;

  std::atomic<bool> astray = false;
};

/// Gives each GPU its own values back; on one replica not within the time that is given.
class IdleCommunicators final : public GpuCommunicators {
 public:
  IdleCommunicators(std::vector<LogicalDevice> all, std::chrono::milliseconds timeout)
      : gpus_(std::move(all)), timeout_(timeout) {}
  int ranks() const override { return static_cast<int>(gpus_.size()); }
  void enqueue(const char* /*what*/, std::span<const std::vector<GpuPart>> parts) override {
    if (hangs) std::this_thread::sleep_for(3 * timeout_);
    for (std::size_t replica = 0; replica < gpus_.size(); ++replica)
      for (const GpuPart& part : parts[replica])
        gpu_platform().copy(part.to, gpus_[replica], part.from, gpus_[replica], part.elements * size_of(part.dtype));
  }

  static inline std::atomic<bool> hangs = false;

 private:
  std::vector<LogicalDevice> gpus_;
  std::chrono::milliseconds timeout_;
};

std::unique_ptr<GpuCommunicators> make_idle_communicators(const std::vector<LogicalDevice>& all,
                                                          std::chrono::milliseconds timeout, Cluster* /*cluster*/) {
  return std::make_unique<IdleCommunicators>(all, timeout);
}

class DoctorsTrials : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // There until the program's end, as tensors in static storage may be.
    static auto& kept = *new std::vector<std::shared_ptr<void>>;
    const auto platform = std::make_shared<Gpus>();
    const auto kernels = std::make_shared<test::PretendGpuKernels>(*platform);
    kept = {platform, kernels, std::make_shared<GpuPlatformScope>(*platform),
            std::make_shared<kernels::GpuStandInScope>(*kernels)};
    platform_ = platform.get();
  }
  void TearDown() override {
    platform_->astray = false;
    IdleCommunicators::hangs = false;
  }

  static inline Gpus* platform_ = nullptr;
  const std::vector<LogicalDevice> gpus_ = logical_gpus(gpus);
};

TEST_F(DoctorsTrials, FindNothingBetweenGpusThatWork) {
  EXPECT_THAT(try_copies(gpus_), ElementsAre(Field(&Finding::text, HasSubstr("between all 3 GPUs, bit by bit"))));
  const GpuCommunicatorsScope pretended(test::make_pretend_communicators);
  const Finding sums = try_all_reduce(gpus_, std::chrono::seconds(60));
  EXPECT_EQ(sums.level, Level::fine) << sums.text;
}

TEST_F(DoctorsTrials, FindCopiesThatGoAstray) {
  platform_->astray = true;
  const std::vector<Finding> findings = try_copies(gpus_);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::broken);
  EXPECT_EQ(findings[0].text, "GPU:0 to GPU:1: other bits arrive than were sent");
  EXPECT_THAT(findings[0].remedy, HasSubstr("switch the IOMMU and PCIe's ACS off"));
}

TEST_F(DoctorsTrials, FindCopiesThatFail) {
  platform_->set_fault("the link is gone");
  const std::vector<Finding> findings = try_copies(gpus_);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::broken);
  EXPECT_EQ(findings[0].text, "GPU:0 to GPU:1: the link is gone");
}

TEST_F(DoctorsTrials, FindSumsThatAreWrong) {
  const GpuCommunicatorsScope idle(make_idle_communicators);
  const Finding sums = try_all_reduce(gpus_, std::chrono::seconds(60));
  EXPECT_EQ(sums.level, Level::broken);
  EXPECT_EQ(sums.text, "gives wrong sums");
  EXPECT_THAT(sums.remedy, HasSubstr("copies and the IOMMU"));
}

TEST_F(DoctorsTrials, FindAnAllReduceThatDoesNotEnd) {
  IdleCommunicators::hangs = true;
  const GpuCommunicatorsScope idle(make_idle_communicators);
  const Finding sums = try_all_reduce(gpus_, std::chrono::milliseconds(500));
  EXPECT_EQ(sums.level, Level::broken);
  EXPECT_THAT(sums.text, HasSubstr("NCCL has not enqueued 1 of 1 collectives within 1 s"));
  EXPECT_THAT(sums.remedy, HasSubstr("NCCL_DEBUG=INFO"));
}

}  // namespace
}  // namespace lockstep::cli
