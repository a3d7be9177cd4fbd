// Errors of NVIDIA's libraries that need no GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>

#include <lockstep/kernels/cuda/cudnn_handle.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/cuda/gpu.h>

namespace lockstep::test {
namespace {

using ::testing::StartsWith;

class CudaErrors : public testing::Test {
 protected:
  const ContextScope there_{{.device = {DeviceKind::gpu, 1}}};
};

TEST_F(CudaErrors, NameCallAndDevice) {
  EXPECT_EQ(error_of<DeviceError>([] { check_cuda(cudaErrorInvalidConfiguration, "a kernel's launch"); }),
            "a kernel's launch failed on GPU:1: invalid configuration argument (cudaErrorInvalidConfiguration)");
  EXPECT_EQ(error_of<DeviceError>([] { cudnn::check(CUDNN_STATUS_EXECUTION_FAILED, "cudnnRNNForward", "lstm"); }),
            "cudnnRNNForward failed on GPU:1 in the lstm: CUDNN_STATUS_EXECUTION_FAILED");
}

TEST_F(CudaErrors, OfMemoryAreOutOfMemory) {
  EXPECT_THAT(error_of<OutOfMemory>([] { check_cuda(cudaErrorMemoryAllocation, "cudaMallocAsync"); }),
              StartsWith("cudaMallocAsync failed on GPU:1: "));
}

}  // namespace
}  // namespace lockstep::test
