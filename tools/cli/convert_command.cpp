#include "convert_command.h"

#include <filesystem>

#include <lockstep/models/training/model_files.h>
#include <lockstep/runtime/core/logging.h>

#include "model_file.h"
#include "output_file.h"
#include "workload.h"

namespace lockstep::cli {
namespace {

/// Checks the options before any file is read or written.
void check(const ConvertOptions& options) {
  require_model_ending(options.in, "IN");
  require_model_ending(options.out, "OUT");
  const bool weights = holds_weights_alone(options.in);
  require(!weights || !options.model.empty(),
          "IN {}: holds weights alone; --model must name the model to which they belong: {}", options.in,
          model_names());
  require(weights || options.model.empty(), "--model {}: leave it out, since IN {} is a whole model", options.model,
          options.in);
  require_file(options.in, "IN");
  require_replaceable(options.out, "OUT");
  std::error_code out_is_missing;
  require(!std::filesystem::equivalent(options.in, options.out, out_is_missing),
          "OUT {}: is the same file as IN; give it another name", options.out);
}

/// Loads a whole model; compiled if its loss, optimizer and metrics are known to this library, else uncompiled.
Model read_whole_model(const std::string& file) {
  try {
    return load_model(file);
  } catch (const InputError& error) {
    Model model = load_model(file, {.compile = false});  // throws if the model itself is invalid
    log_warning("{}; OUT is written without loss, metrics and optimizer", error.what());
    return model;
  }
}

Model read(const ConvertOptions& options) {
  if (!holds_weights_alone(options.in))
    return holds_weights_alone(options.out) ? load_model(options.in, {.compile = false}) : read_whole_model(options.in);
  Model model = make_model(parse_model(options.model), {});
  model.load_weights(options.in);
  return model;
}

}  // namespace

int run(const ConvertOptions& options) {
  check(options);
  const Model model = read(options);
  save_by_name(model, options.out);
  print_message("{}: {} of {} parameters\n", options.out,
                holds_weights_alone(options.out) ? "the weights" : "a whole model", model.count_params());
  return 0;
}

}  // namespace lockstep::cli
