#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/training/model_files.h>

#include "commands.h"
#include "model_source.h"

namespace lockstep::cli {
namespace {

struct SummaryOptions {
  std::string model;
  std::optional<DTypePolicy> dtype_policy{};
  bool json = false;
};

void run(const SummaryOptions& options) {
  check_model(options.model, {});
  if (is_model_file(options.model)) require_no_precision(options.model, options.dtype_policy);
  const Model model = is_model_file(options.model)
                          ? load_model(options.model, {.compile = false})
                          : make_model(parse_model(options.model), {.dtype_policy = options.dtype_policy});
  std::int64_t trainable = 0;
  for (const Variable& variable : model.trainable_variables()) trainable += variable.shape().elements();
  if (!options.json) {
    fmt::print("{}", model.summary());
    return;
  }
  const nlohmann::ordered_json result{{"model", options.model},
                                      {"layers", model.network().layers().size()},
                                      {"params", model.count_params()},
                                      {"trainable_params", trainable},
                                      {"non_trainable_params", model.count_params() - trainable}};
  fmt::print("{}\n", result.dump());
}

}  // namespace

void add_summary_command(CLI::App& program, int&) {
  auto options = std::make_shared<SummaryOptions>();
  CLI::App* const command = program.add_subcommand("summary", "layers, shapes and parameters of a model");
  command->add_option("--model", options->model, model_or_file_names())->required();
  add_precision_option(*command, options->dtype_policy);
  command->add_flag("--json", options->json, "counts as one JSON object on standard output");
  command->footer("Example:\n  lockstep summary --model minigooglenet");
  command->callback([options] { run(*options); });
}

}  // namespace lockstep::cli
