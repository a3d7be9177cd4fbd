#pragma once

#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>

// What devices a test program's replicas run on: logical CPUs, or what LOCKSTEP_TEST_DEVICES says: "gpu" for GPUs,
// where all tests are skipped without one, "pretend_gpu" for one of pretend_gpu/ that all replicas share,
// "pretend_gpus" for one for each replica; "pretend_cuda" for the library's own GPUs over the pretended CUDA of
// pretend_gpu/cuda/, three, so that up to three replicas have one each and more of them share.

namespace lockstep::test {

class PretendGpuPlatform;

/// `count` of them. In programs that link lockstep_test_devices.
std::vector<LogicalDevice> devices(int count);
/// " on CPU:1", as errors say of tensors of devices(n)[1].
inline std::string on_device(int index) { return " on " + devices(index + 1).back().name(); }

/// Makes this a machine with that many pretended GPUs, which reach each other's memory, until the program's end.
PretendGpuPlatform& install_pretended_gpus(int count);

}  // namespace lockstep::test
