#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <support/devices.h>
#if LOCKSTEP_HAVE_CUDA
#include <support/pretend_gpu/cuda/computing.h>
#endif
#include <support/pretend_gpu/kernels.h>
#include <support/pretend_gpu/platform.h>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/registry.h>

namespace lockstep::test {
namespace {

std::string setting(const char* variable, const char* otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : text;
}

std::string wanted() { return setting("LOCKSTEP_TEST_DEVICES", "cpu"); }

class Devices : public testing::Environment {
 public:
  void SetUp() override {
    if (wanted() == "pretend_gpu") install_pretended_gpus(1);
    if (wanted() == "pretend_gpus") install_pretended_gpus(8);
#if LOCKSTEP_HAVE_CUDA
    if (wanted() == "pretend_cuda") install_pretended_cuda(3);
#endif
    if (wanted() == "gpu" && !why_no_gpu().empty()) {
      std::puts("no GPU: every test is skipped");  // what ctest looks for
      GTEST_SKIP() << why_no_gpu();
    }
    if (setting("LOCKSTEP_TEST_ON_DEVICE", "FALSE") == "TRUE") new ContextScope({.device = devices(1).front()});
  }
};

[[maybe_unused]] const testing::Environment* const environment = testing::AddGlobalTestEnvironment(new Devices);

}  // namespace

PretendGpuPlatform& install_pretended_gpus(int count) {
  std::vector<std::vector<int>> peers(static_cast<std::size_t>(count));
  for (int gpu = 0; gpu < count; ++gpu)
    for (int peer = 0; peer < count; ++peer)
      if (peer != gpu) peers[static_cast<std::size_t>(gpu)].push_back(peer);
  // There until the program's end, as tensors in static storage may be.
  static auto& kept = *new std::vector<std::shared_ptr<void>>;
  auto& platform = *new PretendGpuPlatform(std::move(peers));
  auto& stand_in = *new PretendGpuKernels(platform);
  kept.push_back(std::make_shared<GpuPlatformScope>(platform));
  kept.push_back(std::make_shared<kernels::GpuStandInScope>(stand_in));
  return platform;
}

std::vector<LogicalDevice> devices(int count) { return wanted() == "cpu" ? logical_cpus(count) : logical_gpus(count); }

}  // namespace lockstep::test
