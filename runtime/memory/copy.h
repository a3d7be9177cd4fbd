#pragma once

#include <cstddef>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// Copies `bytes` bytes between the memory of two devices, which may be the same. The copy runs after earlier and
/// before later work in the compute streams of those devices that are GPUs. Between GPUs it is asynchronous; otherwise,
/// on return, `from` may be reused, and `to` may be read if it is on a CPU. Throws the same errors as
/// GpuPlatform::copy.
void copy_bytes(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
                std::size_t bytes);
/// Sets bytes of a device's memory to 0; on a GPU asynchronously, in the compute stream. Throws the same errors as
/// GpuPlatform::clear.
void clear_bytes(void* memory, const LogicalDevice& device, std::size_t bytes);

}  // namespace lockstep
