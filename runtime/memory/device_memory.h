#pragma once

#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/device/memory_resource.h>

namespace lockstep {

/// The resource that allocates a device's memory. Throws Unsupported if this build or machine cannot use the device.
MemoryResource& memory_resource(const LogicalDevice& device);

}  // namespace lockstep
