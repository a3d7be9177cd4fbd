#include "lockstep/runtime/autograd/repeated_values.h"

#include <algorithm>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

thread_local std::vector<RepeatedValuesScope*> open_scopes;  // the outermost one first

}  // namespace

RepeatedValuesScope::RepeatedValuesScope(RepeatedValues& values, bool again) : values_(values), again_(again) {
  open_scopes.push_back(this);
}

RepeatedValuesScope::~RepeatedValuesScope() { open_scopes.pop_back(); }

int recomputing_depth() {
  return static_cast<int>(
      std::ranges::count_if(open_scopes, [](const RepeatedValuesScope* scope) { return scope->again_; }));
}

std::vector<RepeatedSlot> next_repeated_slots() {
  std::vector<RepeatedSlot> slots;
  for (RepeatedValuesScope* const scope : open_scopes) {
    RepeatedValues& values = scope->values_;
    if (!scope->again_) values.push_back(std::make_shared<std::any>());
    require<LogicError>(scope->given_ < values.size(),
                        "a function of recompute_grad drew {} random numbers or states in its first call and more when "
                        "it was called again: it must do the same each time",
                        values.size());
    slots.push_back({values[scope->given_++], scope->again_});
  }
  return slots;
}

std::any made_outside(const std::function<std::any()>& make) {
  std::vector<RepeatedValuesScope*> hidden;
  std::swap(hidden, open_scopes);
  struct Restore {
    std::vector<RepeatedValuesScope*>& scopes;
    ~Restore() { std::swap(scopes, open_scopes); }
  } const restore{hidden};
  return make();
}

}  // namespace lockstep
