#include "parity.h"

namespace lockstep::test {

std::int64_t first_fault(std::int64_t returned, const std::string&) { return returned; }

}  // namespace lockstep::test
