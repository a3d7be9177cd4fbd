#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <support/devices.h>
#include <support/pretend_gpu/computing.h>

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
    if (wanted() == "pretend_cuda") install_pretended_cuda(3);
    if (wanted() == "pretend_cuda_8") install_pretended_cuda(8);
    if (wanted() == "gpu" && !why_no_gpu().empty()) {
      std::puts("no GPU: every test is skipped");  // ctest marks the test as skipped by this line
      GTEST_SKIP() << why_no_gpu();
    }
    if (setting("LOCKSTEP_TEST_ON_DEVICE", "FALSE") == "TRUE") new ContextScope({.device = devices(1).front()});
  }
};

[[maybe_unused]] const testing::Environment* const environment = testing::AddGlobalTestEnvironment(new Devices);

}  // namespace

std::vector<LogicalDevice> devices(int count) { return wanted() == "cpu" ? logical_cpus(count) : logical_gpus(count); }

}  // namespace lockstep::test
