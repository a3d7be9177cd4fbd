#include <lockstep/models/data/image_file.h>

#include "fuzz_target.h"

/// A PNG file of classes.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::InputFile file("mask.png");
  file.write(data, size);
  lockstep::fuzz::result_or_error([&] { (void)lockstep::read_mask(file.path()); });
  return 0;
}
