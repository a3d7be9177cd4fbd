#pragma once

#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>

// The devices of a test program's replicas. The environment variable LOCKSTEP_TEST_DEVICES selects them. Not set:
// logical CPUs. "gpu": GPUs; on a machine without a GPU, all tests are skipped. "pretend_cuda": three GPUs of the
// replacement of CUDA in pretend_gpu/; with more than three replicas, some replicas share a GPU. "pretend_cuda_8":
// eight such GPUs.

namespace lockstep::test {

/// `count` devices. Only for programs that link lockstep_test_devices.
std::vector<LogicalDevice> devices(int count);
/// The end of a tensor's text in error messages, such as " on CPU:1" for devices(n)[1].
inline std::string on_device(int index) { return " on " + devices(index + 1).back().name(); }

}  // namespace lockstep::test
