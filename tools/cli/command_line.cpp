#include "command_line.h"

#include <climits>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <lockstep/models/serialization/file_formats.h>

#include "help_formatter.h"
#include "shared_options.h"
#include "unknown_argument.h"

namespace lockstep::cli {
namespace {

/// Adds the options that evaluate and predict share.
void add_options(CLI::App& command, TrainedModelOptions& options) {
  command.option_defaults()->group("Model");
  command.add_option("--model", options.model, model_or_file_names());
  command
      .add_option(
          "--weights", options.weights,
          fmt::format("file with weights to load ({}); needed if --model is a name; default: those of the saved model",
                      weights_extensions()))
      ->type_name("FILE");
  add_precision_option(command, options.dtype_policy);
  add_options(command, options.data);
  add_options(command, options.replicas);
}

// Options of each command, in the order of --help.

void add_options(CLI::App& command, DevicesOptions& options) {
  command.add_flag("--json", options.json, "one JSON object on standard output");
  command.footer("Example:\n  lockstep devices --json");
}

void add_options(CLI::App& command, DoctorOptions& options) {
  command.add_option("--timeout", options.timeout_s, "time limit of the all-reduce")
      ->type_name("SECONDS")
      ->check(whole_number_from(1));
  command.add_flag("--json", options.json, "one JSON array on standard output");
  command.footer(
      "Each finding has a level (ok, slow or BROKEN), what was found, and what to do.\n"
      "Exit status 1 if anything is broken.\n\nExample:\n  lockstep doctor");
}

void add_training_data_options(CLI::App& command, DataOptions& options) {
  add_options(command, options);
  command.add_option("--seed", options.seed, "seed of weights, dropout and the order of examples")
      ->check(whole_number_from(0));
  command.add_flag("!--no-shuffle", options.shuffle, "keep the order of the examples");
  command.add_flag("--augment", options.augment,
                   "randomly shift training images by up to a tenth and flip them left to right");
  command
      .add_option(
          "--validation-split", options.validation_split,
          "for data without test examples, the fraction of the examples to test with, between 0 and 1: the last "
          "ones before shuffling, as in Keras' fit; of images and tfrecord, a random subset that --seed chooses "
          "(default: none)")
      ->type_name("FRACTION")
      ->check(any_number());
  command.add_flag("--drop-remainder", options.drop_remainder, "leave the last, smaller batch out");
}

void add_options(CLI::App& command, UpdateOptions& options) {
  command.option_defaults()->group("Optimizer");
  command
      .add_option("--optimizer", options.optimizer,
                  "sgd, adam, adamw, rmsprop, adagrad or lamb (default sgd; for a saved model its own, with its state)")
      ->check(one_of({"sgd", "adam", "adamw", "rmsprop", "adagrad", "lamb"}));
  const auto add_number = [&](const char* name, std::optional<double>& value, const char* description) {
    command.add_option(name, value, description)->check(any_number());
  };
  add_number("--learning-rate", options.learning_rate,
             "learning rate (default as in Keras: 0.01 for sgd and 0.001 for the others)");
  add_number("--momentum", options.momentum, "momentum of sgd and rmsprop (default 0)");
  add_number("--weight-decay", options.weight_decay,
             "each step subtracts this fraction of each weight, times the learning rate (default 0; 0.004 for adamw)");
  add_number("--clip-norm", options.clip_norm,
             "largest norm of all gradients together; gradients of a larger norm are scaled down (default none)");
  command
      .add_option(
          "--schedule", options.schedule,
          "learning rate by epoch: constant; poly: linearly to 0; cosine: along half a cosine wave to 0; step: a "
          "tenth after half of the epochs, a hundredth after three quarters")
      ->check(one_of({"constant", "poly", "cosine", "step"}));
}

void add_output_options(CLI::App& command, TrainOptions& options) {
  command.option_defaults()->group("Output");
  const auto add_path = [&](const char* name, std::string& path, const std::string& description, const char* type) {
    command.add_option(name, path, description + " (default: none)")->type_name(type);
  };
  add_path("--save", options.save,
           fmt::format("write the trained weights ({}), or the whole model for Keras ({})", weights_extensions(),
                       model_extensions()),
           "FILE");
  add_path("--checkpoint", options.checkpoint,
           "after each epoch, write to this folder best.weights.h5 (of the lowest loss, on the test data if there are "
           "any), last.weights.h5 and a backup for --resume",
           "DIR");
  command
      .add_flag(
          "--resume", options.resume,
          "continue the run that wrote to --checkpoint, if there is one: an interrupted run, or a complete one with "
          "more --epochs. Appends to its outputs; --learning-rate and --schedule, if given, replace its own; --seed "
          "must be the same")
      ->needs("--checkpoint");
  add_path("--history", options.history, "write the history, by epoch (.json)", "FILE");
  add_path("--step-log", options.step_log, "write one JSON object per step, times in ms (.jsonl)", "FILE");
  add_path("--csv", options.csv, "write a line for each epoch (.csv)", "FILE");
  add_path("--tensorboard", options.tensorboard,
           "write curves, the layers' graph and histograms of the weights to this folder, for tensorboard --logdir",
           "DIR");
  add_path("--trace", options.trace,
           "write a timeline of the layers on each replica and, with CUPTI, of the kernels on GPUs, for "
           "chrome://tracing or Perfetto (.json)",
           "FILE");
  add_path("--plot", options.plot, "draw the loss and, if it is a metric, the accuracy (.png)", "FILE");
  add_result_option(command, options.json);
}

void add_checks(CLI::App& command, TrainOptions& options) {
  command.option_defaults()->group("Checks");
  command
      .add_option("--verify-every", options.verify_every,
                  "compare all copies of every mirrored variable every N steps (default never)")
      ->type_name("STEPS")
      ->check(whole_number_from(1));
  command.add_flag("--check-numerics", options.check_numerics,
                   "stop at the first NaN or infinity in a gradient and report step, replica and variable");
}

void add_model_options(CLI::App& command, TrainOptions& options) {
  command.option_defaults()->group("Model");
  command.add_option("--model", options.model,
                     model_or_file_names() + "; for a first try small-cnn, which trains in seconds on a CPU");
  command
      .add_option(
          "--weights", options.weights,
          fmt::format("start from these weights ({}; default: random ones, or a saved model's)", weights_extensions()))
      ->type_name("FILE");
  add_precision_option(command, options.dtype_policy);
  command.add_option("--dropout", options.dropout, "dropout rate, at least 0 (off) and below 1 (default the model's)")
      ->check(any_number());
}

void add_options(CLI::App& command, TrainOptions& options) {
  add_model_options(command, options);
  add_training_data_options(command, options.data);
  command.option_defaults()->group("Training");
  command.add_option("--epochs", options.epochs, "passes over the data")->check(whole_number_from(1, INT_MAX));
  command
      .add_option("--steps-per-epoch", options.steps_per_epoch,
                  "end an epoch after N steps (default: one pass over the data)")
      ->check(whole_number_from(1));
  command
      .add_option("--early-stopping", options.early_stopping,
                  "stop when the loss, of the test data if there are any, has not improved for this many epochs "
                  "(default never); the weights are those of the last epoch, --checkpoint keeps the best")
      ->type_name("EPOCHS")
      ->check(whole_number_from(1, INT_MAX - 2));  // it needs at least two more --epochs
  command
      .add_option(
          "--class-weight", options.class_weight,
          "balanced: weight the examples of a class by examples / (classes * examples of the class), so that rare "
          "classes count as much as frequent ones (default: all have weight 1)")
      ->check(one_of({"balanced"}));
  add_options(command, options.update);
  add_options(command, options.compiled);
  add_options(command, options.replicas);
  command
      .add_option(
          "--batch-shares", options.batch_shares,
          "each replica's share of the global batch, for replicas of unequal speed, e.g. 2,1; or auto: measured "
          "in the first steps (default equal)")
      ->type_name("X,...");
  command.add_flag("--cache-on-devices", options.cache_on_devices,
                   "copy the training examples to each replica's device once, and shuffle and augment them there");
  add_graphs_option(command, options.cuda_graphs);
  add_checks(command, options);
  add_output_options(command, options);
  command.footer(
      "Examples:\n"
      "  lockstep train --model small-cnn --data fashion-mnist --limit 6000\n"
      "  lockstep train --model minigooglenet --data fashion-mnist --replicas 2 \\\n"
      "    --epochs 5 --learning-rate 0.005 --momentum 0.9 --schedule poly \\\n"
      "    --plot history.png --save minigooglenet.weights.h5\n"
      "  lockstep train --model mlp --data synthetic:4096 --batch-size 1024 \\\n"
      "    --optimizer adam --learning-rate 1e-4\n"
      "  mpirun -np 4 -H a:2,b:2 lockstep train --strategy multi-worker \\\n"
      "    --model minigooglenet --data fashion-mnist");
}

void add_options(CLI::App& command, EvaluateOptions& options) {
  add_options(command, options.trained);
  add_options(command, options.trained.compiled);
  command.option_defaults()->group("Output");
  add_result_option(command, options.json);
  command.footer(
      "Examples:\n"
      "  lockstep evaluate --model trained.keras --data fashion-mnist\n"
      "  lockstep evaluate --model minigooglenet --data cifar10:DIR --json \\\n"
      "    --weights minigooglenet.weights.h5\n"
      "  mpirun -np 2 -H a,b lockstep evaluate --strategy multi-worker \\\n"
      "    --model trained.keras --data fashion-mnist");
}

void add_options(CLI::App& command, PredictOptions& options) {
  add_options(command, options.trained);
  command.option_defaults()->group("Output");
  command
      .add_option(
          "--output", options.output,
          "CSV file to write: a row for each example (for a text, each id) with the model's outputs; before them its "
          "file "
          "or token, if there is one, and its most likely class with the probability, if the classes have names")
      ->type_name("FILE")
      ->required();
  command.footer(
      "Example:\n"
      "  lockstep predict --model trained.keras --data fashion-mnist \\\n"
      "    --output predictions.csv");
}

/// Adds the model options that bench and scaling share.
void add_measured_model(CLI::App& command, std::string& model, std::optional<DTypePolicy>& policy) {
  command.option_defaults()->group("Model");
  command.add_option("--model", model, model_names());
  add_precision_option(command, policy);
}

void add_steps(CLI::App& command, std::int64_t& steps, std::int64_t& warmup, std::uint64_t& seed) {
  command.add_option("--steps", steps, "measured steps")->check(whole_number_from(1));
  command.add_option("--warmup", warmup, "warm-up steps before the measured ones")->check(whole_number_from(0));
  command.add_option("--seed", seed, "seed of weights and data")->check(whole_number_from(0));
}

void add_options(CLI::App& command, BenchOptions& options) {
  add_measured_model(command, options.model, options.dtype_policy);
  add_options(command, options.replicas);
  command.option_defaults()->group("Measurement");
  add_batch_size(command, options.batch_size);
  add_steps(command, options.steps, options.warmup, options.seed);
  add_graphs_option(command, options.cuda_graphs);
  command.option_defaults()->group("Output");
  add_result_option(command, options.json);
  command.footer("Example:\n  lockstep bench --model minigooglenet --replicas 2 --batch-size 128 --json");
}

void add_options(CLI::App& command, ScalingOptions& options) {
  ScalingPlan& plan = options.plan;
  add_measured_model(command, options.model, plan.dtype_policy);
  add_options(command, options.devices, "every GPU, or one CPU per core");
  command.option_defaults()->group("Measurement");
  command
      .add_option("--methods", options.methods,
                  "which of mirrored, reduction-to-one-device and multi-gpu-model to measure (default all)")
      ->type_name("NAME,...")
      ->delimiter(',');
  command
      .add_option(
          "--batch-per-replica", plan.batch_per_replica,
          "batch per replica in weak scaling; the global batch of strong scaling is this times the number of devices")
      ->type_name("EXAMPLES")
      ->check(whole_number_from(1));
  command.add_option("--rounds", plan.rounds, "number of rounds, each of which measures every run once")
      ->check(whole_number_from(1, INT_MAX));
  add_steps(command, plan.run.steps, plan.run.warmup, plan.run.seed);
  command.option_defaults()->group("Output");
  command.add_option("--plot", options.plot, "plot the speed-up against the number of replicas (.png; default: none)")
      ->type_name("FILE");
  add_result_option(command, options.json);
  command.footer("Example:\n  lockstep scaling --model minigooglenet --replicas 2 --plot scaling.png");
}

void add_options(CLI::App& command, SummaryOptions& options) {
  command.add_option("--model", options.model, model_or_file_names())->required();
  add_precision_option(command, options.dtype_policy);
  command
      .add_option(
          "--batch-size", options.batch_size,
          "also print the memory in MB that training needs, measured in steps of that many examples on one replica "
          "(default: not measured)")
      ->type_name("EXAMPLES")
      ->check(whole_number_from(1));
  command.add_flag("--json", options.json, "print the result as one JSON object on standard output");
  command.footer(
      "Examples:\n  lockstep summary --model minigooglenet\n"
      "  lockstep summary --model resnet50 --batch-size 16 --precision mixed_bfloat16");
}

void add_options(CLI::App& command, ConvertOptions& options) {
  command
      .add_option("IN", options.in,
                  fmt::format("a whole model ({}) or weights alone ({})", model_extensions(), weights_extensions()))
      ->required();
  command.add_option("OUT", options.out, "the file to write, of either kind; its extension selects the format")
      ->required();
  command.add_option("--model", options.model,
                     "the model to which the weights in IN belong: " + model_names() + " (default: none)");
  command.footer(
      "Weights alone need --model, and can then be written as a whole model.\n"
      "A model that multi_gpu_model wrapped is written as the model inside.\n\n"
      "Examples:\n"
      "  lockstep convert old.h5 new.keras\n"
      "  lockstep convert --model minigooglenet trained.weights.h5 trained.safetensors");
}

/// Adds a command; when the user gives it, its options are stored in `chosen`.
template <class Options>
void add_command(CLI::App& program, const char* name, const char* description, Command& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command = program.add_subcommand(name, description)->group("Commands");
  add_options(*command, *options);
  for (CLI::Option* const option : command->get_options())
    if (option->get_items_expected_max() > 0) option->check(not_empty());
  command->callback([options, &chosen] { chosen = *options; });
}

void add_commands(CLI::App& program, Command& chosen) {
  add_command<DevicesOptions>(program, "devices", "lists the physical and logical devices of this machine", chosen);
  add_command<DoctorOptions>(program, "doctor",
                             "reports anything that would make training on several devices hang or slow down", chosen);
  add_command<TrainOptions>(program, "train", "trains a model on a data set over the replicas", chosen);
  add_command<EvaluateOptions>(
      program, "evaluate",
      "computes loss and metrics of a trained model on the test data, or on all data if there are none", chosen);
  add_command<PredictOptions>(
      program, "predict", "writes a trained model's predictions for the test data, or for all data if there are none",
      chosen);
  add_command<BenchOptions>(program, "bench",
                            "measures the steady-state speed of training on synthetic data that stay on the devices",
                            chosen);
  add_command<ScalingOptions>(program, "scaling",
                              "measures the speed of 1 to N replicas, with MirroredStrategy and older methods", chosen);
  add_command<SummaryOptions>(program, "summary", "prints the layers, shapes and parameters of a model", chosen);
  add_command<ConvertOptions>(program, "convert", "writes a model or its weights in another file format", chosen);
}

}  // namespace

Command parse_command_line(const std::vector<std::string>& arguments, const std::string& version) {
  Command chosen;
  CLI::App program("Synchronous data-parallel training on several devices.", "lockstep");
  program.require_subcommand(1);
  program.set_version_flag("--version", version);
  // An option given twice takes its last value: a script puts its own options before those its caller passes.
  program.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->always_capture_default();
  program.formatter(std::make_shared<HelpFormatter>());
  program.footer(
      "Examples:\n"
      "  lockstep devices\n"
      "  lockstep train --model minigooglenet --data fashion-mnist --plot history.png\n"
      "  lockstep bench --model minigooglenet --replicas 2 --json\n"
      "  lockstep COMMAND --help");
  add_commands(program, chosen);
  try {
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    program.exit(help, text, text);
    return Help{text.str()};
  } catch (const CLI::RequiredError& error) {
    const std::string unknown = unknown_command(program, arguments);
    if (!unknown.empty()) fail("{}", unknown);
    fail("{} (see --help)", error.what());
  } catch (const CLI::ExtrasError& error) {
    const std::string unknown = unknown_option(program, arguments);
    fail("{} (see --help)", unknown.empty() ? error.what() : unknown);
  } catch (const CLI::ParseError& error) {
    fail("{} (see --help)", error.what());
  }
  return chosen;
}

}  // namespace lockstep::cli
