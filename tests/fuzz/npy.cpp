#include <lockstep/models/data/numpy_file.h>

#include "fuzz_target.h"

/// A .npy file, or an archive of them.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::InputFile file("array");
  file.write(data, size);
  const bool archive = lockstep::fuzz::text_of(data, size).starts_with("PK");
  lockstep::fuzz::result_or_error([&] {
    if (archive)
      (void)lockstep::read_npz(file.path());
    else
      (void)lockstep::read_npy(file.path());
  });
  return 0;
}
