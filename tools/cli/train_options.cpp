#include "train_options.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gnuplot.h"
#include "model_file.h"
#include "output_file.h"

namespace lockstep::cli {
namespace {

void add_data_options(CLI::App& command, DataOptions& data) {
  data.add_to(command);
  command.add_option("--seed", data.seed, "of weights, dropout and the order of examples (default 0)")
      ->check(whole_number_from(0));
  command.add_flag("!--no-shuffle", data.shuffle, "keep the order of the examples");
  command.add_flag("--augment", data.augment, "training images are shifted by up to a tenth and flipped left to right");
  command.add_flag("--drop-remainder", data.drop_remainder, "leave the last, smaller batch out");
}

void add_output_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--weights", options.weights, "start from these weights (.weights.h5 or .safetensors)");
  command.add_option("--save", options.save,
                     "write the trained weights (.weights.h5 or .safetensors), or the whole "
                     "model for Keras (.keras or .h5)");
  command.add_option(
      "--checkpoint", options.checkpoint,
      "keep best.weights.h5 (by the loss, of the test data if there are any) and last.weights.h5 in this "
      "folder, written after each epoch, and what --resume needs");
  command
      .add_flag(
          "--resume", options.resume,
          "continue the run that wrote --checkpoint, if there is one: one that was stopped, or a complete one for "
          "more --epochs; its outputs are added to, a --learning-rate or --schedule that is given holds, and --seed "
          "has to be its own")
      ->needs("--checkpoint");
  command.add_option("--history", options.history, "write the history by epoch (.json)");
  command.add_option("--step-log", options.step_log, "write one object per step (.jsonl)");
  command.add_option("--csv", options.csv, "write a line for each epoch (.csv)");
  command.add_option(
      "--tensorboard", options.tensorboard,
      "write curves, the layers' graph and histograms of the weights to this folder, for tensorboard --logdir");
  command.add_option("--trace", options.trace,
                     "write what each replica does and when, layer by layer, and with CUPTI the kernels of GPUs, for "
                     "chrome://tracing or Perfetto (.json)");
  command.add_option("--plot", options.plot, "draw loss and accuracy (.png)");
  command.add_flag("--json", options.json, "the history as one JSON object on standard output");
}

}  // namespace

void TrainOptions::add_to(CLI::App& command) {
  command.add_option("--model", model, model_or_file_names() + " (default minigooglenet)");
  add_data_options(command, data);
  replicas.add_to(command);
  command.add_option("--epochs", epochs, "passes over the data (default 1)")->check(whole_number_from(1));
  command.add_option("--steps-per-epoch", steps_per_epoch, "end an epoch after N steps")->check(whole_number_from(1));
  update.add_to(command);
  compiled.add_to(command);
  add_precision_option(command, dtype_policy);
  command.add_option("--dropout", dropout, "overrides the model's dropout rate; 0 switches it off");
  command.add_option("--verify-every", verify_every, "compare all copies of every variable every N steps")
      ->check(whole_number_from(1));
  command.add_flag("--check-numerics", check_numerics,
                   "end at the first NaN in a gradient, naming step, replica and layer");
  add_graphs_option(command, cuda_graphs);
  command.add_option(
      "--batch-shares", batch_shares,
      "of a global batch, by replica, for replicas of unequal speed, e.g. 2,1; or auto: measured over the "
      "first steps (default equal)");
  add_output_options(command, *this);
}

bool TrainOptions::has_backup() const {
  return std::filesystem::is_directory(backup_folder()) && !std::filesystem::is_empty(backup_folder());
}

DistributeOptions TrainOptions::distribute_options() const {
  constexpr std::int64_t measured_steps = 10;
  if (batch_shares.empty()) return {};
  if (batch_shares == "auto") return {.measure_steps = measured_steps};
  DistributeOptions options;
  std::istringstream list(batch_shares);
  for (std::string text; std::getline(list, text, ',');) {
    double share = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), share);
    require(error == std::errc() && stop == text.data() + text.size() && std::isfinite(share) && share > 0,
            "--batch-shares: must be auto or positive numbers, e.g. 2,1, got '{}'", batch_shares);
    options.shares.push_back(share);
  }
  const auto given = static_cast<int>(options.shares.size());
  require(replicas.has_workers() || given == replicas.count(), "--batch-shares: {} are given for {} replica(s)", given,
          replicas.count());
  return options;
}

void TrainOptions::check() const {
  check_model(model, replicas);
  (void)update.make_optimizer();
  (void)compiled.make_loss();
  (void)compiled.make_metrics();
  require(!dropout || (*dropout >= 0 && *dropout < 1), "--dropout: must be at least 0 and below 1, got {}",
          dropout.value_or(0));
  require<InputError>(weights.empty() || std::ifstream(weights).good(), "--weights {}: cannot be read", weights);
  (void)distribute_options();
  if (!save.empty()) {
    require_model_ending(save, "--save");
    require_writable(save, "--save");
  }
  require<InputError>(
      resume || checkpoint.empty() || !has_backup(),
      "--checkpoint {}: the folder has the weights of a run; add --resume to continue it, or choose another folder",
      checkpoint);
  if (!history.empty()) require_writable(history, "--history");
  if (!step_log.empty()) require_writable(step_log, "--step-log");
  if (!trace.empty()) require_writable(trace, "--trace");
  if (!plot.empty()) {
    require_writable(plot, "--plot");
    require_gnuplot();
  }
}

}  // namespace lockstep::cli
