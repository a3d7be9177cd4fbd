#pragma once

namespace lockstep::cli {

struct DevicesOptions {
  bool json = false;
};

int run(const DevicesOptions& options);

}  // namespace lockstep::cli
