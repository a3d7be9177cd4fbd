#include "lockstep/kernels/update/norm_limits.h"

#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/reduction/axis_groups.h>
#include <lockstep/kernels/update/update_kernels.h>

namespace lockstep {

void limit_norms(const Tensor& x, const std::vector<int>& axes, const NormLimits& limits) try {
  require_f32("limit_norms", x);
  require(x.is_dense(), "limit_norms works in place, on dense tensors, got {} with strides {}", x, x.strides());
  const ContextScope there(context_on(x.device()));
  const AxisGroups groups(x.shape(), axis_set(x.shape(), axes));
  launch(kernels::LimitNorms{x.view(groups.sizes), groups.summed[0] ? 0 : 1, limits});
} catch (Error& error) {
  rethrow_from("limit_norms", error);
}

}  // namespace lockstep
