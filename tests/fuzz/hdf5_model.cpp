#include <iterator>

#include <lockstep/models/losses/regression.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model_files.h>

#include "fuzz_target.h"
#include "hdf5_edits.h"
#include "small_network.h"

namespace lockstep::fuzz {
namespace {

/// A saved compiled model; its file also has the optimizer's variables.
Hdf5Base saved_model(const InputFile& file) {
  const Symbol x = Input({3}, "x");
  Model model(x, Dense({.units = 2, .name = "dense"})(x));
  model.compile(SGD({.momentum = 0.5}), MeanSquaredError());
  save_model(model, file.path());
  std::ifstream in(file.path(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
  return Hdf5Base({begin, begin + bytes.size()});
}

}  // namespace
}  // namespace lockstep::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const fuzz::InputFile file("model.h5");
  static const fuzz::Hdf5Base base = fuzz::saved_model(file);
  FuzzedDataProvider input(data, size);
  const std::vector<std::byte> image = fuzz::edit(base, input);
  file.write(reinterpret_cast<const std::uint8_t*>(image.data()), image.size());
  fuzz::result_or_error([&] { (void)load_model(file.path()); });
  return 0;
}
