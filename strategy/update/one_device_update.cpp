#include "lockstep/strategy/update/one_device_update.h"

#include <vector>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/collective_names.h>

namespace lockstep {
namespace {

/// Copies from memory that kernels of the current device can read and that may be another device's.
void copy_floats(const float* from, std::int64_t count, float* to) {
  launch(kernels::Reduce{ReduceOp::sum, ReduceViews<float>{std::span(&from, 1), std::span(&to, 1), count}});
}

/// Updates a range of the first replica's parameters, after copying all replicas' gradients to its device.
void step_on_one_device(const FlatViews& views, const FlatRange& range, const UpdateFn& update) {
  const std::int64_t elements = range.end - range.begin;
  std::vector<Tensor> brought;
  std::vector<const float*> gradients;
  std::vector<float*> state;
  {
    const PhaseTimer timer(Phase::reduce);
    gradients.push_back(views.gradients.front() + range.begin);
    for (const float* const gradient : views.gradients.subspan(1)) {
      brought.push_back(Tensor::empty({elements}));
      copy_floats(gradient + range.begin, elements, brought.back().data<float>());
      gradients.push_back(brought.back().data<float>());
    }
  }
  const PhaseTimer timer(Phase::update);
  float* const parameters = views.parameters.front() + range.begin;
  for (float* const slot : views.state) state.push_back(slot + range.begin);
  update({gradients, std::span(&parameters, 1), state, elements});
}

}  // namespace

void OneDeviceUpdate::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                        const UpdateFn& update) {
  const PhaseTimer timer(Phase::reduce);
  group_.barrier(replica, views.name);
  if (replica == 0)
    for (const FlatRange& range : ranges)
      if (range.begin < range.end) step_on_one_device(views, range, update);
  group_.barrier(replica, "the result of reduction to one device");
  if (replica != 0)
    for (const FlatRange& range : ranges)
      copy_floats(views.parameters.front() + range.begin, range.end - range.begin,
                  views.parameters[replica] + range.begin);
  group_.barrier(replica, update_end_name);
}

}  // namespace lockstep
