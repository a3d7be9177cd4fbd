#pragma once

#include <cstddef>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// Copies `bytes` bytes between the memory of two devices, which may be the same. In the compute stream of each GPU
/// among them, the copy runs after earlier work and before later work. Between GPUs it is asynchronous. Otherwise,
/// `from` may be reused on return, and a `to` on a CPU may be read on return. Throws the same errors as
/// GpuPlatform::copy.
void copy_bytes(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
                std::size_t bytes);
/// Sets bytes of a device's memory to 0; on a GPU asynchronously, in the compute stream. Throws the same errors as
/// GpuPlatform::clear.
void clear_bytes(void* memory, const LogicalDevice& device, std::size_t bytes);

}  // namespace lockstep
