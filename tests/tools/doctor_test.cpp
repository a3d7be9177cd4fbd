#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tools/cli/doctor_findings.h>
#include <tools/cli/doctor_trials.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

/// A machine without any problem.
MachineFacts healthy(int gpus) {
  MachineFacts facts{
      .software = {.cuda = {13000, 13000}, .driver_supports = 13000, .cudnn = {91900, 91900}, .nccl = {22809, 22809}},
      .has_nvidia_device_files = gpus > 0,
      .host = {.shared_memory_free = gib},
      .cores = 16,
      .replicas = gpus};
  for (int index = 0; index < gpus; ++index) {
    Device gpu{.kind = DeviceKind::gpu, .index = index, .model = "H100"};
    for (int peer = 0; peer < gpus; ++peer)
      if (peer != index) gpu.peers.push_back(peer);
    facts.gpus.devices.push_back(gpu);
  }
  if (gpus == 0) facts.gpus.why_none = "no driver";
  return facts;
}

auto finding(Finding::Level level, const std::string& subject, const std::string& text, const std::string& remedy) {
  return AllOf(Field(&Finding::level, level), Field(&Finding::subject, subject), Field(&Finding::text, HasSubstr(text)),
               Field(&Finding::remedy, HasSubstr(remedy)));
}
constexpr auto broken = Finding::Level::broken;
constexpr auto slow = Finding::Level::slow;

TEST(Doctor, FindsNothingOnAHealthyMachine) {
  for (const int gpus : {0, 1, 8}) {
    EXPECT_THAT(judge(healthy(gpus)),
                Each(AllOf(Field(&Finding::level, Finding::Level::fine), Field(&Finding::remedy, IsEmpty()))))
        << gpus;
  }
}

TEST(Doctor, FindsADriverWithoutItsLibrary) {
  MachineFacts facts = healthy(0);
  facts.has_nvidia_device_files = true;
  EXPECT_THAT(judge(facts), Contains(finding(broken, "GPUs", "no driver", "libcuda.so.1")));
  facts.host.in_container = true;
  EXPECT_THAT(judge(facts), Contains(finding(broken, "GPUs", "no driver", "--gpus all")));
}

TEST(Doctor, FindsADriverThatIsTooOld) {
  MachineFacts facts = healthy(1);
  facts.software.driver_supports = 12040;
  EXPECT_THAT(judge(facts), Contains(finding(broken, "driver", "up to 12.4, this program was built with 13.0",
                                             "a driver for CUDA 13.0 or newer")));
}

TEST(Doctor, FindsLibrariesThatDoNotFit) {
  MachineFacts facts = healthy(2);
  facts.software.cudnn.loaded = 91200;
  facts.software.nccl.loaded = 0;
  facts.software.cuda.loaded = 12080;
  const std::vector<Finding> findings = judge(facts);
  EXPECT_THAT(findings, Contains(finding(broken, "CUDA", "12.8, built with 13.0", "CUDA 13.0 or newer")));
  EXPECT_THAT(findings, Contains(finding(broken, "cuDNN", "9.12, built with 9.19", "cuDNN 9.19 or newer")));
  EXPECT_THAT(findings, Contains(finding(broken, "NCCL", "not found, built with 2.28.9", "LD_LIBRARY_PATH")));
  facts.software.cudnn.loaded = 100000;
  EXPECT_THAT(judge(facts), Contains(finding(broken, "cuDNN", "10.0", "same major version")));
}

TEST(Doctor, FindsGpusThatDoNotReachEachOther) {
  MachineFacts facts = healthy(3);
  facts.gpus.devices[0].peers = {1};
  facts.gpus.devices[2].peers = {1};
  EXPECT_THAT(judge(facts), Contains(finding(slow, "peer access", "none between GPU:0 and GPU:2", "NVLink")));
}

TEST(Doctor, FindsWhatRedirectsCopies) {
  MachineFacts facts = healthy(2);
  facts.host.has_iommu = true;
  EXPECT_THAT(judge(facts), Contains(finding(slow, "IOMMU", "hangs NCCL", "iommu=off")));
  EXPECT_THAT(judge(facts), Not(Contains(Field(&Finding::subject, "PCIe ACS"))));
  facts.host.has_acs = true;
  EXPECT_THAT(judge(facts), Contains(finding(slow, "PCIe ACS", "redirect", "setpci")));
}

TEST(Doctor, FindsTheLimitsOfAContainer) {
  MachineFacts facts = healthy(2);
  facts.host.in_container = true;
  facts.host.shared_memory_free = gib / 16;
  facts.locked_memory_limit = 65536;
  facts.cpu_quota = 1.5;
  const std::vector<Finding> findings = judge(facts);
  EXPECT_THAT(findings, Contains(finding(broken, "/dev/shm", "64 MiB free", "--shm-size=1g")));
  EXPECT_THAT(findings, Contains(finding(slow, "locked memory", "64 KiB", "--ulimit memlock=-1")));
  EXPECT_THAT(findings, Contains(finding(slow, "cores", "1.5 for 2 replicas", "--cpus")));
  facts.host.shared_memory_free.reset();
  EXPECT_THAT(judge(facts), Contains(finding(broken, "/dev/shm", "there is none", "tmpfs")));
}

TEST(Doctor, NamesTheRemedyOutsideOfContainersToo) {
  MachineFacts facts = healthy(2);
  facts.host.shared_memory_free = 0;
  facts.locked_memory_limit = 65536;
  facts.cores = 1;
  const std::vector<Finding> findings = judge(facts);
  EXPECT_THAT(findings, Contains(finding(broken, "/dev/shm", "0 MiB", "remount")));
  EXPECT_THAT(findings, Contains(finding(slow, "locked memory", "64 KiB", "ulimit -l")));
  EXPECT_THAT(findings, Contains(finding(slow, "cores", "1 for 2 replicas", "fewer replicas")));
}

TEST(Doctor, FindsSettingsThatHangOrSlowNccl) {
  MachineFacts facts = healthy(2);
  facts.environment = {{"CUDA_LAUNCH_BLOCKING", "1"}, {"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}};
  const std::vector<Finding> findings = judge(facts);
  EXPECT_THAT(findings, Contains(finding(broken, "CUDA_LAUNCH_BLOCKING", "forever", "unset")));
  EXPECT_THAT(findings, Contains(finding(slow, "NCCL_P2P_DISABLE", "is 1", "unset NCCL_P2P_DISABLE")));
  EXPECT_THAT(findings, Contains(finding(slow, "NCCL_SHM_DISABLE", "is 1", "unset NCCL_SHM_DISABLE")));
  facts.environment = {{"CUDA_LAUNCH_BLOCKING", "0"}};
  EXPECT_THAT(judge(facts), Not(Contains(Field(&Finding::subject, "CUDA_LAUNCH_BLOCKING"))));
}

TEST(Doctor, FindsGpusThatAreHidden) {
  MachineFacts facts = healthy(0);
  facts.has_nvidia_device_files = true;
  facts.environment = {{"CUDA_VISIBLE_DEVICES", ""}};
  EXPECT_THAT(judge(facts), Contains(finding(broken, "CUDA_VISIBLE_DEVICES", "hide all GPUs", "unset")));
}

TEST(Doctor, TriesAnAllReduceOverTheReplicas) {
  const Finding good = try_all_reduce(logical_cpus(3), std::chrono::seconds(60));
  EXPECT_EQ(good.level, Finding::Level::fine) << good.text;
  EXPECT_THAT(good.text, HasSubstr("over 3 replicas"));
}

TEST(Doctor, SaysWhatIsWrongWithAnAllReduceThatFails) {
  const std::vector<LogicalDevice> mixed{{DeviceKind::cpu, 0}, {DeviceKind::gpu, 0}};
  const Finding bad = try_all_reduce(mixed, std::chrono::seconds(1));
  EXPECT_EQ(bad.level, broken);
  EXPECT_THAT(bad.text, HasSubstr("GPU:0"));
}

}  // namespace
}  // namespace lockstep::cli
