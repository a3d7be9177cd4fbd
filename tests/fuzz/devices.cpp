#include <vector>

#include <lockstep/runtime/device/registry.h>

#include "fuzz_target.h"

/// The input is a list of devices, separated by commas.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  const std::string_view text = fuzz::text_of(data, size);
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  fuzz::result_or_error([&] { (void)parse_devices(names); });
  return 0;
}
