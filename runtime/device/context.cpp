#include "lockstep/runtime/device/context.h"

#include <lockstep/runtime/device/registry.h>

namespace lockstep {
namespace {

thread_local ExecutionContext context{.device = {DeviceKind::cpu, 0, available_cores()}};

}  // namespace

const ExecutionContext& current_context() { return context; }

ContextScope::ContextScope(const ExecutionContext& next) : previous_(context) { context = next; }

ContextScope::~ContextScope() { context = previous_; }

}  // namespace lockstep
