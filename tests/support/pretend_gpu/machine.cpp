#include <optional>

#include <gtest/gtest.h>
#include <support/devices.h>
#include <support/pretend_gpu/communicators.h>

// Makes a test program's machine one with pretended GPUs, for tests of what only GPUs have.

namespace lockstep::test {
namespace {

class GpuMachine : public testing::Environment {
  void SetUp() override {
    install_pretended_gpus(8);
    communicators_.emplace(make_pretend_communicators);
  }

  std::optional<GpuCommunicatorsScope> communicators_;  ///< until the program's end, as the GPUs
};

[[maybe_unused]] const testing::Environment* const environment = testing::AddGlobalTestEnvironment(new GpuMachine);

}  // namespace
}  // namespace lockstep::test
