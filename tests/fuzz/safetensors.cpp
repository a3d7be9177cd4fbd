#include <lockstep/models/serialization/file_formats.h>

#include "fuzz_target.h"
#include "small_network.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const fuzz::InputFile file("model.safetensors");
  static const Network network = fuzz::small_network();
  file.write(data, size);
  fuzz::result_or_error([&] { load_weights(network, file.path()); });
  return 0;
}
