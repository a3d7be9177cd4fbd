#include <lockstep/models/training/model_files.h>

#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::InputFile file("model.keras");
  file.write(data, size);
  lockstep::fuzz::result_or_error([&] { (void)lockstep::load_model(file.path()); });
  return 0;
}
