#pragma once

#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>

// The devices of a test program's replicas, by LOCKSTEP_TEST_DEVICES: logical CPUs by default; "gpu" for GPUs (without
// one, all tests are skipped); "pretend_cuda" for three GPUs of the pretended CUDA in pretend_gpu/, so that up to three
// replicas have one each and more replicas share them; "pretend_cuda_8" for eight.

namespace lockstep::test {

/// `count` devices. Only for programs that link lockstep_test_devices.
std::vector<LogicalDevice> devices(int count);
/// The end of a tensor's text in error messages, such as " on CPU:1" for devices(n)[1].
inline std::string on_device(int index) { return " on " + devices(index + 1).back().name(); }

}  // namespace lockstep::test
