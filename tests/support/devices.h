#pragma once

#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>

// What devices a test program's replicas run on: logical CPUs, or what LOCKSTEP_TEST_DEVICES says: "gpu" for GPUs,
// where all tests are skipped without one, "pretend_cuda" for the library's own GPUs over the pretended CUDA of
// pretend_gpu/, three, so that up to three replicas have one each and more of them share; "pretend_cuda_8" for eight.

namespace lockstep::test {

/// `count` of them. In programs that link lockstep_test_devices.
std::vector<LogicalDevice> devices(int count);
/// " on CPU:1", as errors say of tensors of devices(n)[1].
inline std::string on_device(int index) { return " on " + devices(index + 1).back().name(); }

}  // namespace lockstep::test
