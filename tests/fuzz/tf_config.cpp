#include <lockstep/strategy/comm/cluster/cluster_spec.h>

#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::fuzz::result_or_error(
      [&] { (void)lockstep::parse_tf_config(std::string(lockstep::fuzz::text_of(data, size))); });
  return 0;
}
