#include "lockstep/runtime/core/determinism.h"

#include <atomic>
#include <cstdlib>

namespace lockstep {
namespace {

std::atomic<bool> enabled = false;

struct Setting {
  const char* name;
  const char* value;
};

constexpr Setting settings[] = {
    {"CUBLAS_WORKSPACE_CONFIG", ":4096:2"},  // required by cuDNN's release notes for recurrent layers
    {"NCCL_ALGO", "Ring"},                   // NVLS may add in a different order in each call
    {"NCCL_PROTO", "Simple"},
};

}  // namespace

void enable_op_determinism() {
  constexpr int keep = 0;
  for (const Setting& setting : settings) setenv(setting.name, setting.value, keep);
  enabled = true;
}

bool is_op_determinism_enabled() { return enabled; }

}  // namespace lockstep
