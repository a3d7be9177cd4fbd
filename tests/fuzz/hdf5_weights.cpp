#include <lockstep/models/data/hdf5_dataset.h>
#include <lockstep/models/serialization/weights_h5.h>

#include "fuzz_target.h"
#include "small_network.h"

/// As weights of either of Keras' layouts, and as examples.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const fuzz::InputFile file("model.weights.h5");
  static const Network network = fuzz::small_network();
  file.write(data, size);
  fuzz::result_or_error([&] { load_weights(network, file.path()); });
  fuzz::result_or_error([&] { (void)hdf5_dataset(file.path(), "x", "y").epoch().next(); });
  return 0;
}
