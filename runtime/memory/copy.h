#pragma once

#include <cstddef>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// Copies bytes of one device's memory to another's, in the order of both devices' work; done when it returns where one
/// of them is a CPU.
void copy_bytes(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
                std::size_t bytes);
/// Sets bytes of a device's memory to 0.
void clear_bytes(void* memory, const LogicalDevice& device, std::size_t bytes);

}  // namespace lockstep
