#include <lockstep/kernels/built_in_gpu_backend.h>

namespace lockstep {

Backend& built_in_gpu_backend() { fail<Unsupported>("this build has no kernels for GPUs; use CPU devices"); }

}  // namespace lockstep
