#include <nlohmann/json.hpp>

#include <lockstep/models/files/json_text.h>
#include <lockstep/models/serialization/compile_config.h>
#include <lockstep/models/serialization/symbolic_model.h>

#include "fuzz_target.h"

/// JSON from whole-model files: the configuration of the layers, and the compile configuration.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  fuzz::result_or_error([&] {
    const nlohmann::ordered_json config = parse_json(fuzz::text_of(data, size), "config.json");
    (void)model_from_config(config);
    if (config.contains("compile_config")) (void)read_compile_config(config["compile_config"], {"first", "second"}, {});
  });
  return 0;
}
