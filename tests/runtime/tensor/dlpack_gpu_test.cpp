#include <dlpack/dlpack.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/runtime/device/cuda/gpu.h>
#include <lockstep/runtime/tensor/dlpack.h>

// DLPack's tensors in GPU memory.

namespace lockstep::test {
namespace {

TEST(DlpackOnAGpu, ItsReleaseLeavesTheGpusErrorsToTheNextCaller) {
  const LogicalDevice device{DeviceKind::gpu, 1};
  const Tensor ours = Tensor::empty({3}, DType::f32, device);
  DLManagedTensor* const managed = to_dlpack(ours);
  EXPECT_EQ(managed->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(managed->dl_tensor.device.device_id, 1);
  EXPECT_EQ(managed->dl_tensor.data, ours.raw_data());
  Tensor borrowed = from_dlpack(managed);
  EXPECT_EQ(borrowed.device(), device);
  gpu(device).set_error("a collective failed");
  borrowed = {};
  EXPECT_ERROR(DeviceError, "GPU:1: a collective failed", synchronize(device));
  synchronize(device);
}

}  // namespace
}  // namespace lockstep::test
