#pragma once

#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/device/memory_resource.h>

namespace lockstep {

/// Where a device's memory comes from. Throws Unsupported when this build or machine cannot use it.
MemoryResource& memory_resource(const LogicalDevice& device);

}  // namespace lockstep
