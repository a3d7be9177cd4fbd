#pragma once

#include <cstdint>

namespace lockstep::cli {

struct DoctorOptions {
  std::int64_t timeout_s = 30;
  bool json = false;
};

/// Returns 1 where anything is broken.
int run(const DoctorOptions& options);

}  // namespace lockstep::cli
