#pragma once

#include <lockstep/kernels/update/update.h>

#if defined(__CUDACC__) || defined(LOCKSTEP_KERNELS_OF_GPUS)
#include <lockstep/kernels/executor/cuda_executor.cuh>
#include <lockstep/kernels/update/update_shared.h>
#endif

namespace lockstep::kernels::detail {

/// Runs kernels::Update on the current GPU with the rule of a functor.
template <class F>
void update_on_gpu(const F& rule, const StepOptions& step, const UpdateViews& views)
#if defined(__CUDACC__) || defined(LOCKSTEP_KERNELS_OF_GPUS)
{
  cuda::CudaExecutor on;
  update_elements(on, rule, step, views);
}
/// Whether this program has update_on_gpu<F>.
template <class F>
inline constexpr bool has_update_on_gpu = true;
#else
    ;
template <class F>
inline constexpr bool has_update_on_gpu = false;
#endif

}  // namespace lockstep::kernels::detail

// LOCKSTEP_RULE_ON_GPUS(F) declares that lockstep contains the functor F compiled for GPUs. Write it in namespace
// lockstep after F, in one of lockstep's headers. CMakeLists.txt must list the header among the sources that it
// compiles as CUDA.
#if defined(LOCKSTEP_KERNELS_OF_GPUS)
#define LOCKSTEP_RULE_ON_GPUS(F) \
  template void kernels::detail::update_on_gpu(const F& rule, const StepOptions& step, const UpdateViews& views);
#elif LOCKSTEP_HAVE_CUDA && !defined(__CUDACC__)
#define LOCKSTEP_RULE_ON_GPUS(F) \
  template <>                    \
  inline constexpr bool kernels::detail::has_update_on_gpu<F> = true;
#else
#define LOCKSTEP_RULE_ON_GPUS(F)
#endif
