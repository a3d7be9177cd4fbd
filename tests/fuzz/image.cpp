#include <lockstep/models/data/image_file.h>

#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::InputFile file("image");
  file.write(data, size);
  for (const std::int64_t channels : {1, 3})
    lockstep::fuzz::result_or_error([&] { (void)lockstep::read_image(file.path(), channels); });
  return 0;
}
