#include "train_options.h"

#include <cmath>
#include <cstdint>
#include <sstream>
#include <utility>

#include <lockstep/models/training/callbacks/backup_folder.h>
#include <lockstep/runtime/core/parse_number.h>

#include "gnuplot.h"
#include "model_file.h"
#include "output_file.h"

namespace lockstep::cli {

bool TrainOptions::has_backup() const { return BackupFolder(backup_folder()).has_backup(); }

std::vector<std::string> TrainOptions::trained_files(bool resumes) const {
  std::vector<std::string> files{model};
  if (!weights.empty()) files.insert(files.begin(), weights);
  if (resumes) files.insert(files.begin(), last_weights());
  return files;
}

DistributeOptions TrainOptions::distribute_options() const {
  constexpr std::int64_t measured_steps = 10;
  DistributeOptions options{.cache_on_devices = cache_on_devices};
  if (batch_shares.empty()) return options;
  require(!replicas.is_multi_gpu_model(),
          "--batch-shares {}: --strategy multi-gpu-model has equal shares; leave it out, or choose another strategy",
          batch_shares);
  if (batch_shares == "auto") {
    options.measure_steps = measured_steps;
    return options;
  }
  std::istringstream list(batch_shares);
  for (std::string text; std::getline(list, text, ',');) {
    const double share = parse_number<double>(text).value_or(0);
    require(std::isfinite(share) && share > 0, "--batch-shares: must be auto or positive numbers, e.g. 2,1, got '{}'",
            batch_shares);
    options.shares.push_back(share);
  }
  const auto given = static_cast<int>(options.shares.size());
  require(replicas.has_workers() || given == replicas.count(), "--batch-shares: got {} share(s) for {} replica(s)",
          given, replicas.count());
  return options;
}

void TrainOptions::check() const {
  check_model(model, replicas);
  (void)update.make_optimizer();
  (void)compiled.make_loss();
  (void)compiled.make_metrics();
  require(!dropout || (*dropout >= 0 && *dropout < 1), "--dropout: must be at least 0 and below 1, got {}",
          dropout.value_or(0));
  const double split = data.validation_split.value_or(0.5);
  require(split > 0 && split < 1, "--validation-split: must be between 0 and 1, got {}", split);
  if (!weights.empty()) require_file(weights, "--weights");
  (void)distribute_options();
  require(early_stopping == 0 || early_stopping < epochs - 1,
          "--early-stopping {}: cannot end a training of {} epoch(s) early; give --epochs {} or more", early_stopping,
          epochs, early_stopping + 2);
}

void TrainOptions::check_outputs() const {
  if (!save.empty()) {
    require_model_ending(save, "--save");
    require_replaceable(save, "--save");
  }
  const bool is_new = checkpoint.empty() || !has_backup();
  // fit checks the folder of an earlier run, unless the run is complete and nothing is written.
  if (!checkpoint.empty() && is_new) require_folder(checkpoint, "--checkpoint");
  if (!tensorboard.empty()) require_folder(tensorboard, "--tensorboard");
  require<InputError>(
      resume || is_new,
      "--checkpoint {}: the folder has the weights of a run; add --resume to continue it, or choose another folder",
      checkpoint);
  if (!history.empty()) require_replaceable(history, "--history");
  for (const auto& [option, log] : {std::pair("--step-log", step_log), std::pair("--csv", csv)})
    if (!log.empty()) require_writable(log, option);
  if (!trace.empty()) require_replaceable(trace, "--trace");
  if (!plot.empty()) require_plot(plot);
  std::vector<std::pair<std::string, std::string>> outputs{{"--save", save},         {"--history", history},
                                                           {"--step-log", step_log}, {"--csv", csv},
                                                           {"--trace", trace},       {"--plot", plot}};
  if (!checkpoint.empty())
    for (const std::string& file : {best_weights(), last_weights()})
      outputs.insert(outputs.begin(), {"--checkpoint", file});
  for (const auto& [option, path] : outputs) require_no_data(path, option, data.source);
  require_distinct(outputs);
}

}  // namespace lockstep::cli
