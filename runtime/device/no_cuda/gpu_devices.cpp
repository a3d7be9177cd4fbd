#include <lockstep/runtime/device/gpu_devices.h>

namespace lockstep {

GpuReport query_gpus() { return {{}, "this build has no CUDA (configure with LOCKSTEP_CUDA=ON and a CUDA toolkit)"}; }

}  // namespace lockstep
