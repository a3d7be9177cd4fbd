// Faults that a GPU test can cause in its process, for the kit's runner (course_test.py), with the pretended CUDA.

#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/devices.h>
#include <support/pretend_gpu/pretend_cuda.h>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {
namespace {

void use_the_gpu() {
  const ContextScope there({.device = devices(1).front()});
  EXPECT_THAT(Tensor::full({3}, 2).to_vector<float>(), testing::Each(2.0F));
}

void take_the_gpu_away() { pretend_cuda()->fail_from_now_on(cudaErrorIllegalAddress); }

TEST(Troubles, AWorkingCaseAtFirst) { use_the_gpu(); }
TEST(Troubles, Crash) { std::raise(SIGSEGV); }
TEST(Troubles, ACaseBehindTheCrash) { use_the_gpu(); }
TEST(Troubles, Hang) {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}
TEST(Troubles, ACaseBehindTheHang) { use_the_gpu(); }
TEST(Troubles, HangWithoutAWatchdog) { std::raise(SIGSTOP); }
TEST(Troubles, ACaseThatLeavesAStickyError) { take_the_gpu_away(); }
TEST(Troubles, ACaseThatAnothersErrorReaches) { use_the_gpu(); }
TEST(Troubles, StickyError) {
  take_the_gpu_away();
  use_the_gpu();
}
TEST(Troubles, ACaseBehindTheStickyError) { use_the_gpu(); }
TEST(Troubles, Failure) { ADD_FAILURE() << "as it should be"; }
TEST(Troubles, Skipped) { GTEST_SKIP() << "for no reason"; }
TEST(Troubles, AWorkingCaseAtLast) { use_the_gpu(); }

}  // namespace
}  // namespace lockstep::test
