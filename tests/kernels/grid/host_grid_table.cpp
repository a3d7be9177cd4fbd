#include "host_grid_backend.h"
#include "parity.h"

namespace lockstep::test {

Backend& grid_table() {
  static HostGridBackend table;
  return table;
}

std::int64_t first_fault(std::int64_t returned, const std::string&) { return returned; }

}  // namespace lockstep::test
