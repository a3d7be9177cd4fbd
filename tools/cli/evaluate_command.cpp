#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "trained_model.h"

namespace lockstep::cli {
namespace {

struct EvaluateOptions {
  TrainedModelOptions trained{};
  bool json = false;
};

void run(const EvaluateOptions& options) {
  options.trained.check();
  TrainedModel trained = make_trained_model(options.trained, Compiled::for_evaluation);
  const Logs logs = trained.model.evaluate(trained.examples);
  if (!trained.model.strategy().is_chief()) return;
  std::string text;
  nlohmann::ordered_json result{{"model", options.trained.model},
                                {"data", trained.data},
                                {"preparation", trained.preparation},
                                {"examples", trained.count}};
  for (const auto& [name, value] : logs) {
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", name, value);
    result[name] = value;
  }
  fmt::print(stderr, "{} on {}, {} examples{}{}: {}\n", options.trained.model, trained.data, trained.count,
             trained.preparation.empty() ? "" : ", ", trained.preparation, text);
  if (options.json) fmt::print("{}\n", result.dump());
}

}  // namespace

void add_evaluate_command(CLI::App& program, int&) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* const command =
      program.add_subcommand("evaluate", "loss and metrics of a trained model over the replicas, on test data if any");
  options->trained.add_to(*command);
  options->trained.compiled.add_to(*command);
  command->add_flag("--json", options->json, "the result as one JSON object on standard output");
  command->footer(
      "Examples:\n"
      "  lockstep evaluate --model trained.keras --data fashion-mnist\n"
      "  lockstep evaluate --model minigooglenet --weights minigooglenet.weights.h5 --data cifar10:DIR --json\n"
      "  mpirun -np 2 -H a,b lockstep evaluate --strategy multi-worker --model trained.keras --data fashion-mnist");
  command->callback([options] { run(*options); });
}

}  // namespace lockstep::cli
