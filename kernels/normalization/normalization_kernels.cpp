#include "lockstep/kernels/normalization/normalization_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/grid/batch_norm.h>
#include <lockstep/kernels/grid/layer_norm.h>
#include <lockstep/kernels/grid/moments.h>

namespace lockstep::kernels {

LOCKSTEP_SHARED_KERNEL(ChannelMoments)
LOCKSTEP_SHARED_KERNEL(BatchNorm)
LOCKSTEP_SHARED_KERNEL(MergeMoments)
LOCKSTEP_SHARED_KERNEL(BatchNormGradientSums)
LOCKSTEP_SHARED_KERNEL(BatchNormGradientX)
LOCKSTEP_SHARED_KERNEL(LayerNorm)
LOCKSTEP_SHARED_KERNEL(LayerNormGradient)

}  // namespace lockstep::kernels
