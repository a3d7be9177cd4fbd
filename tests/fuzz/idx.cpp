#include <lockstep/models/data/idx.h>

#include "fuzz_target.h"

/// The first byte selects the rank.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::InputFile file("idx");
  if (size == 0) return 0;
  file.write(data + 1, size - 1);
  lockstep::fuzz::result_or_error([&] { (void)lockstep::read_idx(file.path(), data[0] % 5); });
  return 0;
}
