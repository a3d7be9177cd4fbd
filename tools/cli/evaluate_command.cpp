#include "evaluate_command.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/core/lossy_json.h>

#include "trained_model.h"
#include "wrapped_text.h"

namespace lockstep::cli {

int run(const EvaluateOptions& options) {
  options.trained.check();
  const Strategy strategy = options.trained.replicas.make_strategy();
  TrainedModel trained = make_trained_model(options.trained, strategy, Compiled::for_evaluation);
  const Logs logs = trained.model.evaluate(trained.examples, {.verbose = 0});
  if (!trained.model.strategy().is_chief()) return 0;
  std::string text;
  nlohmann::ordered_json result{{"model", options.trained.model},
                                {"data", trained.data},
                                {"preparation", trained.preparation},
                                {"examples", trained.count}};
  for (const auto& [name, value] : logs) {
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", name, value);
    result[name] = value;
  }
  const std::string what =
      fmt::format("{} on {}, {} examples{}{}: {}", options.trained.model, trained.data, trained.count,
                  trained.preparation.empty() ? "" : ", ", trained.preparation, text);
  print_message("{}\n", wrapped(what, 2));
  if (options.json) fmt::print("{}\n", lossy_json(result));
  return 0;
}

}  // namespace lockstep::cli
