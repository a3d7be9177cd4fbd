#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/metrics/accuracy.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/serialization/atomic_file.h>
#include <lockstep/models/training/callbacks/backup_and_restore.h>
#include <lockstep/models/training/callbacks/csv_logger.h>
#include <lockstep/models/training/callbacks/learning_rate_scheduler.h>
#include <lockstep/models/training/callbacks/progbar_logger.h>
#include <lockstep/models/training/callbacks/tensorboard.h>

#include "commands.h"
#include "history_plot.h"
#include "interrupt.h"
#include "run_record.h"
#include "step_log.h"
#include "train_options.h"
#include "workload.h"

namespace lockstep::cli {
namespace {

Optimizer make_optimizer(const TrainOptions& options) {
  if (options.optimizer == "adam") {
    AdamOptions adam;
    if (options.learning_rate) adam.learning_rate = *options.learning_rate;
    return Adam(adam);
  }
  SgdOptions sgd{.momentum = options.momentum};
  if (options.learning_rate) sgd.learning_rate = *options.learning_rate;
  return SGD(sgd);
}

nlohmann::ordered_json history_json(const History& history, const RunRecord& record) {
  nlohmann::ordered_json result;
  for (const auto& [name, values] : history.values) result[name] = values;
  result["time_to_first_step_s"] = record.time_to_first_step_s();
  result["peak_memory_mb"] = peak_memory_mb();
  return result;
}

FitOptions fit_options(const TrainOptions& options, const TrainingData& data, const Optimizer& optimizer,
                       const std::shared_ptr<RunRecord>& record) {
  FitOptions fit{.epochs = options.epochs, .steps_per_epoch = options.steps_per_epoch, .validation = data.test};
  fit.verify_every = options.verify_every;
  fit.distribute = options.distribute_options();
  if (options.schedule == "poly")
    fit.callbacks.push_back(
        std::make_shared<LearningRateScheduler>(poly_decay(optimizer.learning_rate(), options.epochs)));
  if (!options.backup_dir.empty())
    fit.callbacks.push_back(
        std::make_shared<BackupAndRestore>(options.backup_dir, BackupAndRestoreOptions{.save_when_stopped = true}));
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

void write_results(const TrainOptions& options, const Model& model, const History& history, const RunRecord& record,
                   const std::string& title) {
  const nlohmann::ordered_json result = history_json(history, record);
  if (!options.save.empty()) model.save_weights(options.save);
  if (!model.strategy().is_chief()) return;
  if (!options.history.empty()) {
    const std::string text = result.dump(2) + "\n";
    write_file_atomically(options.history, std::as_bytes(std::span(text)));
  }
  if (!options.plot.empty()) plot_history(options.plot, title, history, record);
  if (options.json) fmt::print("{}\n", result.dump());
}

int run(TrainOptions options) {
  options.check();
  const ModelKind kind = parse_model(options.model);
  const Strategy strategy = options.replicas.make_strategy();
  const int replicas = strategy.num_replicas_in_sync();
  if (options.data.batch_size == 0) options.data.batch_size = std::int64_t{64} * replicas;
  const TrainingData data = load_data(options.data, kind);
  require(data.train_examples >= replicas, "{} replicas need at least as many examples, {} are there", replicas,
          data.train_examples);

  ModelSettings settings{.seed = options.data.seed, .dropout = options.dropout};
  if (takes_images(kind)) settings.images = data.form;
  Model model = strategy.scope([&] { return make_model(kind, settings); });
  const Optimizer optimizer = make_optimizer(options);
  optimizer.check_numerics(options.check_numerics);
  model.compile(optimizer, make_loss(kind), {Accuracy()});
  if (!options.weights.empty()) model.load_weights(options.weights);

  const std::string what =
      fmt::format("{} on {}, {} replica{}", options.model, data.name, replicas, replicas == 1 ? "" : "s");
  if (strategy.is_chief())
    fmt::print(stderr, "{}: {} examples, {} to test, global batch {}, {} parameters\n", what, data.train_examples,
               data.test_examples, options.data.batch_size, model.count_params());
  const auto record = std::make_shared<RunRecord>();
  const History history = model.fit(data.train, fit_options(options, data, optimizer, record));
  write_results(options, model, history, *record, what);
  return InterruptCallback::exit_code();
}

}  // namespace

void add_train_command(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* const command = program.add_subcommand("train", "trains a model on a data set over the replicas");
  options->add_to(*command);
  command->footer(
      "Examples:\n"
      "  lockstep train --model minigooglenet --data fashion-mnist --replicas 2 --epochs 5 --optimizer sgd \\\n"
      "    --learning-rate 0.005 --momentum 0.9 --schedule poly --plot history.png --save minigooglenet.weights.h5\n"
      "  lockstep train --model mlp --data synthetic:4096 --batch-size 1024 --optimizer adam --learning-rate 1e-4\n"
      "  mpirun -np 4 -H a:2,b:2 lockstep train --strategy multi-worker --model minigooglenet --data fashion-mnist");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace lockstep::cli
