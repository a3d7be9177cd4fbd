#pragma once

#include <lockstep/kernels/backend.h>

namespace lockstep {

/// What backend() gives for GPUs outside of tests. Implemented in cuda/ or, in a build without CUDA, in no_cuda/, where
/// it throws Unsupported.
Backend& built_in_gpu_backend();

}  // namespace lockstep
