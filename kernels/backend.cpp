#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/cpu/cpu_backend.h>

namespace lockstep {

Backend& backend(DeviceKind kind) {
  static CpuBackend cpu;
  require<Unsupported>(kind == DeviceKind::cpu, "this build has no kernels for a {}; use CPU devices", name(kind));
  return cpu;
}

Backend& current_backend() { return backend(current_context().device.kind); }

}  // namespace lockstep
