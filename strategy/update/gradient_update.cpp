#include "lockstep/strategy/update/gradient_update.h"

#include <vector>

namespace lockstep {

void update_range(const UpdateFn& update, const FlatViews& views, const FlatRange& range) {
  if (range.begin == range.end) return;
  // Reused in each thread, because when an allocation fails here, other replicas may already have updated their shares.
  thread_local std::vector<const float*> gradients;
  thread_local std::vector<float*> parameters;
  thread_local std::vector<float*> state;
  const auto advance = [&](auto& advanced_pointers, std::span<float* const> pointers) {
    advanced_pointers.assign(pointers.begin(), pointers.end());
    for (auto& pointer : advanced_pointers) pointer += range.begin;
  };
  advance(gradients, views.gradients);
  advance(parameters, views.parameters);
  advance(state, views.state);
  update({gradients, parameters, state, range.end - range.begin});
}

}  // namespace lockstep
