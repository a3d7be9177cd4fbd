#include "train_command.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/training/callbacks/backup_and_restore.h>
#include <lockstep/models/training/callbacks/csv_logger.h>
#include <lockstep/models/training/callbacks/early_stopping.h>
#include <lockstep/models/training/callbacks/model_checkpoint.h>
#include <lockstep/models/training/callbacks/tensorboard.h>
#include <lockstep/models/training/progbar_logger.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

#include "history_plot.h"
#include "interrupt.h"
#include "model_file.h"
#include "model_source.h"
#include "output_file.h"
#include "run_record.h"
#include "step_log.h"
#include "trace_file.h"
#include "workload.h"
#include "wrapped_text.h"

namespace lockstep::cli {
namespace {

nlohmann::ordered_json history_json(const History& history, const RunRecord& record) {
  nlohmann::ordered_json result{{"epoch", history.epoch}};
  for (const auto& [name, values] : history.values) result[name] = values;
  result["time_to_first_step_s"] = record.time_to_first_step_s();
  result["peak_memory_mb"] = peak_memory_mb();
  return result;
}

/// Whether the run continues from a backup. A collective: throws InvalidArgument on all workers if only some of them
/// have --resume or see the backup.
bool resumes_run(const TrainOptions& options, const Strategy& strategy) {
  const bool resumes = options.resume && options.has_backup();
  if (Cluster* const workers = strategy.state()->cluster()) {
    constexpr const char* place = "the start of the run";
    workers->agree(place, "--resume is", options.resume ? "given" : "not given");
    workers->agree(
        place,
        fmt::format("--checkpoint {} must be one folder for all workers; what they see in it is", options.checkpoint),
        resumes ? "a backup" : "no backup");
  }
  return resumes;
}

/// The value to minimize: its lowest value marks the best epoch.
const char* monitored(const TrainingData& data) { return data.test ? "val_loss" : "loss"; }

/// The name of a file for ModelCheckpoint, in which braces have a meaning.
std::string escaped(const std::string& path) {
  std::string result;
  for (const char c : path) result += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  return result;
}

/// Writes the vocabulary of a text beside the file of a model or of weights, and says so.
void write_vocabulary(const TrainingData& data, const std::string& file) {
  if (!data.vocabulary) return;
  std::error_code ignored;  // if the folder cannot be made, writing says so
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  const std::string files = data.vocabulary->save_beside(file);
  print_message("wrote {}: the vocabulary, with which evaluate and predict read text\n", files);
}

/// Prepares the folder of --checkpoint before the first epoch. A complete run, which has no more epochs, only reads it.
class CheckpointFolder final : public Callback {
 public:
  CheckpointFolder(const TrainOptions& options, const TrainingData& data) : options_(options), data_(data) {}
  bool chief_only() const override { return true; }
  void on_epoch_begin(Model&, const EpochPlan&) override {
    if (std::exchange(is_ready_, true)) return;
    require_folder(options_.checkpoint, "--checkpoint");
    remove_unfinished_files(options_.checkpoint);
    for (const std::string& file : {options_.best_weights(), options_.last_weights()}) write_vocabulary(data_, file);
  }

 private:
  const TrainOptions& options_;
  const TrainingData& data_;
  bool is_ready_ = false;
};

/// Keeps the best and the last weights, and a backup for --resume, which may also add epochs to a complete run.
void add_checkpoints(const TrainOptions& options, const TrainingData& data, FitOptions& fit) {
  if (options.checkpoint.empty()) return;
  fit.callbacks.push_back(std::make_shared<CheckpointFolder>(options, data));
  fit.callbacks.push_back(std::make_shared<ModelCheckpoint>(
      escaped(options.best_weights()), ModelCheckpointOptions{.monitor = monitored(data), .save_best_only = true}));
  fit.callbacks.push_back(std::make_shared<ModelCheckpoint>(escaped(options.last_weights())));
  fit.callbacks.push_back(std::make_shared<BackupAndRestore>(
      options.backup_folder(), BackupAndRestoreOptions{.delete_checkpoint = false, .save_when_stopped = true}));
}

/// The weights of --class-weight.
ClassWeight class_weight(const TrainOptions& options, const TrainingData& data, const Model& model) try {
  if (options.class_weight.empty()) return {};
  Tensor labels = data.train_targets->batch(data.train_examples).epoch().next()->x();
  if (const std::optional<std::int64_t> ignored = ignored_class(model); ignored && labels.dtype() != DType::f32) {
    std::vector<std::int64_t> kept = labels.to_vector<std::int64_t>();
    std::erase(kept, *ignored);
    labels = Tensor::from(kept, {static_cast<std::int64_t>(kept.size())});
  }
  ClassWeight weights = balanced_class_weight(labels);
  const auto& [largest, ignored] = *weights.rbegin();
  require(weights.begin()->first >= 0 && largest < data.form.classes,
          "{} has targets from {} to {}, this --model has the classes 0 to {}", data.name, weights.begin()->first,
          largest, data.form.classes - 1);
  return weights;
} catch (Error& error) {
  error.add_context("--class-weight " + options.class_weight);
  throw;
}

FitOptions fit_options(const TrainOptions& options, const TrainingData& data, const Optimizer& optimizer,
                       const std::shared_ptr<RunRecord>& record, const std::shared_ptr<EarlyStopping>& early_stopping) {
  FitOptions fit{.epochs = options.epochs, .steps_per_epoch = options.steps_per_epoch, .validation = data.test};
  fit.verify_every = options.verify_every;
  fit.distribute = options.distribute_options();
  fit.cuda_graphs = options.cuda_graphs;
  if (const auto schedule = options.update.make_schedule(optimizer.learning_rate(), options.epochs))
    fit.callbacks.push_back(schedule);
  fit.callbacks.push_back(early_stopping);
  add_checkpoints(options, data, fit);
  fit.callbacks.push_back(std::make_shared<InterruptCallback>());
  fit.callbacks.push_back(record);
  if (!options.step_log.empty()) fit.callbacks.push_back(std::make_shared<StepLog>(options.step_log));
  if (!options.csv.empty()) fit.callbacks.push_back(std::make_shared<CSVLogger>(options.csv));
  if (!options.tensorboard.empty())
    fit.callbacks.push_back(std::make_shared<TensorBoard>(
        TensorBoardOptions{.log_dir = options.tensorboard, .histogram_freq = 1, .update_freq = 1}));
  fit.callbacks.push_back(std::make_shared<ProgbarLogger>());
  return fit;
}

/// Prints a summary of the run that `what` names, and how it begins.
void print_start(const TrainOptions& options, const TrainingData& data, const Model& model, const std::string& what,
                 bool resumes) {
  print_message("{}\n",
                wrapped(fmt::format("{}: {} training and {} test examples, global batch {}, {} parameters{}{}", what,
                                    data.train_examples, data.test_examples, options.data.batch_size,
                                    model.count_params(), data.preparation.empty() ? "" : "; ", data.preparation),
                        2));
  if (options.resume && !resumes)
    print_message("--resume: {} has no backup; training starts from the beginning\n", options.checkpoint);
  if (resumes && !options.weights.empty())
    print_message("--resume: the run in {} continues with its own weights; --weights {} is not read\n",
                  options.checkpoint, options.weights);
}

/// Without --early-stopping the callback never stops training, but still keeps the state that a resumed run with the
/// option needs.
std::shared_ptr<EarlyStopping> make_early_stopping(const TrainOptions& options, const TrainingData& data) {
  const int patience = options.early_stopping > 0 ? options.early_stopping : std::numeric_limits<int>::max();
  return std::make_shared<EarlyStopping>(EarlyStoppingOptions{.monitor = monitored(data), .patience = patience});
}

/// Prints why the run ended, unless it ended after its last epoch.
void print_end(const TrainOptions& options, const TrainingData& data, const EarlyStopping& early_stopping, bool trained,
               std::size_t epochs) {
  const int stopped_epoch = early_stopping.stopped_epoch();
  if (trained && stopped_epoch > 0)
    print_message("--early-stopping: {} has not improved for {} epoch(s); stopped after epoch {} of {}\n",
                  monitored(data), options.early_stopping, stopped_epoch + 1, options.epochs);
  else if (stopped_epoch > 0)
    print_message("--resume: the run in {} is complete; --early-stopping ended it after epoch {}\n", options.checkpoint,
                  stopped_epoch + 1);
  else if (!trained)
    print_message("--resume: the run in {} is complete after {} epochs; increase --epochs to continue it\n",
                  options.checkpoint, epochs);
}

/// A file or folder. Without `write`, fit's callbacks have written it.
struct Output {
  std::string path;
  const char* what;
  std::function<void()> write = [] {};
};

/// Writes the outputs of the end of the run and prints a line for each file. An output that fails does not keep the
/// others from being written; its error is thrown at the end. Every worker must call it; the chief writes.
void write_outputs(const TrainOptions& options, const TrainingData& data, const Model& model, const History& history,
                   const RunRecord& record, std::optional<RunTrace>& trace, const std::string& title) {
  const bool is_chief = model.strategy().is_chief();
  const auto save = [&] {
    save_by_name(model, options.save);
    if (is_chief) write_vocabulary(data, options.save);
  };
  if (!is_chief) {
    if (!options.save.empty()) save();
    return;
  }
  const nlohmann::ordered_json result = history_json(history, record);
  const auto write_history = [&] {
    const std::string text = result.dump(2) + "\n";
    write_file_atomically(options.history, std::as_bytes(std::span(text)));
  };
  const Output files[] = {
      {options.save, is_model_file(options.save) ? "the trained model" : "the trained weights", save},
      {record.trained() ? options.checkpoint : "", "best.weights.h5, last.weights.h5 and a backup for --resume"},
      {options.history, "the history, by epoch", write_history},
      {options.step_log, "a JSON object for each step"},
      {options.csv, "a line for each epoch"},
      {options.tensorboard, "event files for tensorboard --logdir"},
      {record.trained() ? options.trace : "", "the trace for chrome://tracing or Perfetto",
       [&] { trace->write(options.trace, record.resumed()); }},
      {options.plot, "the plot of the history", [&] { plot_history(options.plot, title, history, record); }}};
  OutputWriter writer;
  for (const auto& [path, what, write] : files)
    if (!path.empty() && writer.write(write)) print_message("wrote {}: {}\n", path, what);
  if (options.json) writer.write([&] { fmt::print("{}\n", result.dump()); });
  if (options.save.empty() && options.checkpoint.empty())
    print_message("the trained weights are not kept; --save FILE writes them\n");
  writer.finish();
}

/// Compiles the model; one from a file keeps its loss, metrics and optimizer where no option replaces them.
Optimizer compile(const TrainOptions& options, Model& model, const std::string& optimizer_problem) {
  const bool of_file = is_model_file(options.model);
  require<InputError>(options.update.optimizer || optimizer_problem.empty(),
                      "--model {}; choose another optimizer with --optimizer", optimizer_problem);
  const Optimizer optimizer = of_file ? options.update.changed(model.optimizer()) : options.update.make_optimizer();
  optimizer.check_numerics(options.check_numerics);
  if (of_file)
    model.compile(optimizer, std::vector(model.compiled_outputs()));
  else
    options.compiled.compile(model, parse_model(options.model), optimizer);
  return optimizer;
}

bool has_gpus(const std::vector<LogicalDevice>& devices) {
  return std::ranges::any_of(devices, [](const LogicalDevice& device) { return device.kind == DeviceKind::gpu; });
}

}  // namespace

int run(TrainOptions options) {
  options.check();
  const Strategy strategy = options.replicas.make_strategy();
  on_chief(strategy, [&] { options.check_outputs(); });
  const bool resumes = resumes_run(options, strategy);
  const int replicas = options.replicas.replicas_of(strategy);
  if (options.data.batch_size == 0) options.data.batch_size = std::int64_t{64} * replicas;
  options.data.trained_files = options.trained_files(resumes);
  auto [model, data, optimizer_problem] = make_model_and_data(
      options.model, {.seed = options.data.seed, .dropout = options.dropout, .dtype_policy = options.dtype_policy},
      options.data, options.replicas, strategy, Compiled::for_training, options.compiled);
  require(data.train_examples >= replicas, "{} replicas need at least as many examples, got {}", replicas,
          data.train_examples);
  RowTensors rows;
  require(!options.cache_on_devices || data.train.row_numbers(rows),
          "--cache-on-devices: {} is read or converted on the host in each epoch, and cannot be kept on devices",
          data.name);
  const Optimizer optimizer = compile(options, model, optimizer_problem);
  if (is_model_file(options.save)) model.check_can_be_saved(options.save);
  const ClassWeight weights = class_weight(options, data, model);
  if (!options.weights.empty() && !resumes) model.load_weights(options.weights);

  const std::string what =
      fmt::format("{} on {}, {} replica{}", options.model, data.name, replicas, replicas == 1 ? "" : "s");
  if (strategy.is_chief()) print_start(options, data, model, what, resumes);
  const auto record = std::make_shared<RunRecord>(options.data.seed);
  std::optional<RunTrace> trace;
  if (!options.trace.empty()) trace.emplace(has_gpus(strategy.devices()));
  const std::shared_ptr<EarlyStopping> early_stopping = make_early_stopping(options, data);
  FitOptions fit = fit_options(options, data, optimizer, record, early_stopping);
  fit.class_weight = weights;
  const History history = model.fit(data.train, fit);
  if (strategy.is_chief()) print_end(options, data, *early_stopping, record->trained(), history.epoch.size());
  write_outputs(options, data, model, history, *record, trace, what);
  return InterruptCallback::exit_code();
}

}  // namespace lockstep::cli
