#pragma once

#include <cstdint>

namespace lockstep::cli {

struct DoctorOptions {
  std::int64_t timeout_s = 30;
  bool json = false;
};

/// Prints the findings; returns 1 if anything is broken.
int run(const DoctorOptions& options);

}  // namespace lockstep::cli
