// The trials of lockstep doctor, on pretended GPUs with faults.

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/pretend_gpu/pretend_cuda.h>
#include <tools/cli/doctor_trials.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep::cli {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::StartsWith;
using Level = Finding::Level;

class DoctorsTrials : public testing::Test {
 protected:
  ~DoctorsTrials() override {
    cuda_.corrupt_copies(0, 1, false);
    cuda_.falsify_nccl(false);
    cuda_.stall_nccl(false);
  }

  test::PretendCuda& cuda_ = *test::pretend_cuda();
  const std::vector<LogicalDevice> gpus_ = logical_gpus(3);
};

TEST_F(DoctorsTrials, FindNothingBetweenGpusThatWork) {
  EXPECT_THAT(try_copies(gpus_), ElementsAre(Field(&Finding::text, HasSubstr("bit-identical between all 3 GPUs"))));
  const Finding sums = try_all_reduce(gpus_, std::chrono::seconds(60));
  EXPECT_EQ(sums.level, Level::fine) << sums.text;
}

TEST_F(DoctorsTrials, FindCopiesThatGoAstray) {
  cuda_.corrupt_copies(0, 1, true);
  const std::vector<Finding> findings = try_copies(gpus_);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::broken);
  EXPECT_EQ(findings[0].text, "GPU:0 to GPU:1: the copy differs from the original");
  EXPECT_THAT(findings[0].remedy, HasSubstr("switch the IOMMU and PCIe's ACS off"));
}

TEST_F(DoctorsTrials, FindCopiesThatFail) {
  cuda_.fail("cudaMemcpyPeerAsync", 1, cudaErrorPeerAccessUnsupported);
  const std::vector<Finding> findings = try_copies(gpus_);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::broken);
  EXPECT_THAT(findings[0].text, StartsWith("GPU:0 to GPU:1: to_device: assign: a copy between GPUs failed on GPU:1: "));
}

TEST_F(DoctorsTrials, FindSumsThatAreWrong) {
  cuda_.falsify_nccl(true);
  const Finding sums = try_all_reduce(gpus_, std::chrono::seconds(60));
  EXPECT_EQ(sums.level, Level::broken);
  EXPECT_EQ(sums.text, "gives wrong sums");
  EXPECT_THAT(sums.remedy, HasSubstr("copies and IOMMU"));
}

TEST_F(DoctorsTrials, FindAnAllReduceThatDoesNotEnd) {
  cuda_.stall_nccl(true);
  const Finding sums = try_all_reduce(gpus_, std::chrono::milliseconds(500));
  EXPECT_EQ(sums.level, Level::broken);
  EXPECT_THAT(sums.text, HasSubstr("took longer than 0.5 s"));
  EXPECT_THAT(sums.remedy, HasSubstr("NCCL_DEBUG=INFO"));
}

}  // namespace
}  // namespace lockstep::cli
