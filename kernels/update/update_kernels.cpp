#include "lockstep/kernels/update/update_kernels.h"

#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/update/update_shared.h>

namespace lockstep::kernels {

template <class Executor>
void Reduce::run(Executor& on) const {
  const auto reduce = [&]<class T>(const ReduceViews<T>& of) {
    check_views(op, of);
    visit_reduce(op, [&](const auto& f) { detail::reduce_with<T>(on, f, of); });
  };
  std::visit(reduce, views);
}

LOCKSTEP_SHARED_KERNEL(Reduce)

}  // namespace lockstep::kernels
