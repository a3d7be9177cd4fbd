#include "summary_command.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/training/model_files.h>
#include <lockstep/runtime/core/lossy_json.h>

#include "model_source.h"
#include "step_memory.h"

namespace lockstep::cli {

int run(const SummaryOptions& options) {
  require(options.batch_size == 0 || !is_model_file(options.model),
          "--batch-size: measures only models given by name, not the file {}", options.model);
  check_model(options.model, {});
  if (is_model_file(options.model)) require_no_precision(options.model, options.dtype_policy);
  Model model = is_model_file(options.model)
                    ? load_model(options.model, {.compile = false})
                    : make_model(parse_model(options.model), {.dtype_policy = options.dtype_policy});
  std::int64_t trainable = 0;
  for (const Variable& variable : model.trainable_variables()) trainable += variable.shape().elements();
  std::optional<StepMemory> memory;
  if (options.batch_size > 0) memory = measure_step_memory(model, parse_model(options.model), options.batch_size);
  if (!options.json) {
    fmt::print("{}", model.summary());
    if (memory)
      fmt::print("Memory of a training step of {} examples: {:.1f} MB at most, {:.1f} MB between steps\n",
                 options.batch_size, memory->peak_mb, memory->state_mb);
    return 0;
  }
  nlohmann::ordered_json result{{"model", options.model},
                                {"layers", model.network().layers().size()},
                                {"params", model.count_params()},
                                {"trainable_params", trainable},
                                {"non_trainable_params", model.count_params() - trainable}};
  if (memory) result.update({{"step_peak_mb", memory->peak_mb}, {"state_mb", memory->state_mb}});
  fmt::print("{}\n", lossy_json(result));
  return 0;
}

}  // namespace lockstep::cli
