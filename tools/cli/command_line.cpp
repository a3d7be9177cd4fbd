#include "command_line.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/strategy/comm/cross_device_ops.h>

#include "nearest_name.h"

namespace lockstep::cli {
namespace {

/// An option's number must be a whole one of at least `lowest`.
CLI::Validator whole_number_from(std::int64_t lowest) {
  return CLI::Validator(
      [lowest](std::string& text) {
        std::int64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && stop == end && value >= lowest) return std::string();
        return fmt::format("must be a whole number of at least {}, got '{}'", lowest, text);
      },
      "N");
}

/// An option's text must be one of `names`.
CLI::Validator one_of(std::vector<std::string> names) {
  return CLI::Validator(
      [names = std::move(names)](std::string& text) {
        if (std::ranges::find(names, text) != names.end()) return std::string();
        return fmt::format("must be one of {}, got '{}'{}", fmt::join(names, ", "), text, suggestion(text, names));
      },
      "");
}

// What several commands have in common.

/// `by_default` says, for people, what there are when neither option is given.
void add_options(CLI::App& command, DeviceOptions& options, const std::string& by_default) {
  auto* const count =
      command
          .add_option("--replicas", options.replicas,
                      fmt::format("logical GPUs, or, where there is no GPU, logical CPUs that share the cores "
                                  "(default: {})",
                                  by_default))
          ->check(whole_number_from(1));
  command.add_option("--devices", options.devices, "devices by name, e.g. GPU:0,GPU:1 or CPU:0,CPU:1")
      ->delimiter(',')
      ->excludes(count);
}

void add_options(CLI::App& command, ReplicaOptions& options) {
  using Options = ReplicaOptions;
  add_options(command, options.devices, "every GPU, or 2; of each worker: its share of the GPUs, or 1 CPU");
  command
      .add_option(
          "--strategy", options.strategy,
          "mirrored (default): a copy of the weights for each replica; one-device; central-storage: one copy for "
          "all; multi-gpu-model: one copy, outputs concatenated on the CPU, for comparison; multi-worker: "
          "mirrored over all processes that mpirun has started")
      ->check(one_of({Options::mirrored, Options::one_device, Options::central_storage, Options::multi_gpu,
                      Options::multi_worker}));
  std::vector<std::string> ways;
  for (const CrossDeviceOps ops : all_cross_device_ops) ways.emplace_back(name(ops));
  command
      .add_option("--cross-device-ops", options.cross_device_ops,
                  fmt::format("how replicas combine their values: {} (default auto)", fmt::join(ways, ", ")))
      ->check(one_of(ways));
  command
      .add_option("--wire-dtype", options.wire_dtype,
                  "what gradients are exchanged as between GPUs: float32 (default), or bfloat16, half the bytes")
      ->check(one_of({Options::float32, Options::bfloat16}));
  command
      .add_option("--timeout", options.timeout_s, "longest wait for a replica or a worker, in seconds (default 600)")
      ->check(whole_number_from(1));
  command.add_flag("--deterministic", options.deterministic,
                   "the same bits run after run, whatever libraries of GPUs would choose; on CPUs that is always so");
}

/// Those that only training has are not among them.
void add_options(CLI::App& command, DataOptions& options) {
  command.add_option("--data", options.source, data_names() + " (default fashion-mnist)");
  command.add_option("--limit", options.limit, "only the first N examples; of a folder of images N of all classes")
      ->check(whole_number_from(1));
  command.add_option("--limit-test", options.limit_test, "the same of the test examples")->check(whole_number_from(1));
  command
      .add_option(
          "--rescaling", options.rescaling,
          "of the values of hdf5 and the pixels of images: none, which leaves 0 to 255 as they are, as Keras does; "
          "zero-to-one: / 255; minus-one-to-one: / 127.5 - 1 (default none)")
      ->check(one_of(rescaling_names()));
  command.add_option("--batch-size", options.batch_size, "the GLOBAL batch, as in Keras' fit (default 64 per replica)")
      ->check(whole_number_from(1));
}

void add_options(CLI::App& command, CompileOptions& options) {
  CLI::Option* const named =
      command.add_option("--loss", options.loss,
                         "Keras' name of a loss, such as sparse_categorical_crossentropy, for a saved model without "
                         "one or in place of the model's");
  command.add_flag("--from-logits", options.from_logits, "the model gives logits, which --loss takes then")
      ->needs(named);
  command.add_option("--metrics", options.metrics, "Keras' names, such as accuracy mae, in place of the model's");
}

/// --precision, for the models that have a name: those of a file say themselves what each layer computes in.
void add_precision_option(CLI::App& command, std::optional<DTypePolicy>& policy) {
  command
      .add_option_function<std::string>(
          "--precision", [&policy](const std::string& text) { policy = parse_dtype_policy(text); },
          "float32 (default), or mixed_bfloat16: layers compute in bfloat16, variables stay float32")
      ->check(one_of({"float32", "mixed_bfloat16"}));
}

void add_graphs_option(CLI::App& command, bool& cuda_graphs) {
  command.add_flag("--cuda-graphs", cuda_graphs, "on GPUs, capture what a step computes and launch it as CUDA graphs");
}

void add_result_option(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "the result as one JSON object on standard output");
}

void add_options(CLI::App& command, TrainedModelOptions& options) {
  command.add_option("--model", options.model, model_or_file_names() + " (default minigooglenet)");
  command.add_option("--weights", options.weights,
                     fmt::format("of a model that is no file ({})", weights_extensions()));
  add_options(command, options.data);
  add_options(command, options.replicas);
  add_precision_option(command, options.dtype_policy);
}

// The commands, in the order of --help.

void add_options(CLI::App& command, DevicesOptions& options) {
  command.add_flag("--json", options.json, "one JSON object on standard output");
  command.footer("Example:\n  lockstep devices --json");
}

void add_options(CLI::App& command, DoctorOptions& options) {
  command.add_option("--timeout", options.timeout_s, "longest time of the all-reduce, in seconds (default 30)")
      ->check(whole_number_from(1));
  command.add_flag("--json", options.json, "one JSON array on standard output");
  command.footer(
      "A line for each finding: ok, slow or BROKEN, what was found, and what to do. Exit status 1 if anything is "
      "broken.\n\nExample:\n  lockstep doctor");
}

void add_training_data_options(CLI::App& command, DataOptions& options) {
  add_options(command, options);
  command.add_option("--seed", options.seed, "of weights, dropout and the order of examples (default 0)")
      ->check(whole_number_from(0));
  command.add_flag("!--no-shuffle", options.shuffle, "keep the order of the examples");
  command.add_flag("--augment", options.augment,
                   "training images are shifted by up to a tenth and flipped left to right");
  command.add_flag("--drop-remainder", options.drop_remainder, "leave the last, smaller batch out");
}

void add_options(CLI::App& command, UpdateOptions& options) {
  command
      .add_option("--optimizer", options.optimizer,
                  "sgd, adam, adamw, rmsprop, adagrad or lamb (default sgd, or a saved model's own in its state)")
      ->check(one_of({"sgd", "adam", "adamw", "rmsprop", "adagrad", "lamb"}));
  command.add_option("--learning-rate", options.learning_rate,
                     "default: Keras', 0.01 for sgd and 0.001 for the others");
  command.add_option("--momentum", options.momentum, "of sgd and rmsprop (default 0)");
  command.add_option(
      "--weight-decay", options.weight_decay,
      "share of each weight that a step takes off, times the learning rate (default 0; 0.004 for adamw)");
  command.add_option("--clip-norm", options.clip_norm,
                     "the largest norm that all gradients together may have (default none)");
  command
      .add_option("--schedule", options.schedule,
                  "of the learning rate by epoch: constant; poly: linearly to 0; cosine: half a wave to 0; step: a "
                  "tenth after half of the epochs, a hundredth after three quarters (default constant)")
      ->check(one_of({"constant", "poly", "cosine", "step"}));
}

void add_output_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--weights", options.weights, fmt::format("start from these weights ({})", weights_extensions()));
  command.add_option("--save", options.save,
                     fmt::format("write the trained weights ({}), or the whole model for Keras ({})",
                                 weights_extensions(), model_extensions()));
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

void add_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--model", options.model, model_or_file_names() + " (default minigooglenet)");
  add_training_data_options(command, options.data);
  add_options(command, options.replicas);
  command.add_option("--epochs", options.epochs, "passes over the data (default 1)")->check(whole_number_from(1));
  command
      .add_option(
          "--early-stopping", options.early_stopping,
          "stop when the loss, of the test data if there are any, has not improved for N epochs (default never); "
          "the weights are those of the last epoch, --checkpoint keeps the best")
      ->check(whole_number_from(1));
  command.add_option("--steps-per-epoch", options.steps_per_epoch, "end an epoch after N steps")
      ->check(whole_number_from(1));
  add_options(command, options.update);
  add_options(command, options.compiled);
  add_precision_option(command, options.dtype_policy);
  command.add_option("--dropout", options.dropout, "overrides the model's dropout rate; 0 switches it off");
  command.add_option("--verify-every", options.verify_every, "compare all copies of every variable every N steps")
      ->check(whole_number_from(1));
  command.add_flag("--check-numerics", options.check_numerics,
                   "end at the first NaN in a gradient, naming step, replica and layer");
  add_graphs_option(command, options.cuda_graphs);
  command.add_option(
      "--batch-shares", options.batch_shares,
      "of a global batch, by replica, for replicas of unequal speed, e.g. 2,1; or auto: measured over the "
      "first steps (default equal)");
  add_output_options(command, options);
  command.footer(
      "Examples:\n"
      "  lockstep train --model minigooglenet --data fashion-mnist --replicas 2 --epochs 5 --optimizer sgd \\\n"
      "    --learning-rate 0.005 --momentum 0.9 --schedule poly --plot history.png --save minigooglenet.weights.h5\n"
      "  lockstep train --model mlp --data synthetic:4096 --batch-size 1024 --optimizer adam --learning-rate 1e-4\n"
      "  mpirun -np 4 -H a:2,b:2 lockstep train --strategy multi-worker --model minigooglenet --data fashion-mnist");
}

void add_options(CLI::App& command, EvaluateOptions& options) {
  add_options(command, options.trained);
  add_options(command, options.trained.compiled);
  add_result_option(command, options.json);
  command.footer(
      "Examples:\n"
      "  lockstep evaluate --model trained.keras --data fashion-mnist\n"
      "  lockstep evaluate --model minigooglenet --weights minigooglenet.weights.h5 --data cifar10:DIR --json\n"
      "  mpirun -np 2 -H a,b lockstep evaluate --strategy multi-worker --model trained.keras --data fashion-mnist");
}

void add_options(CLI::App& command, PredictOptions& options) {
  add_options(command, options.trained);
  command
      .add_option(
          "--output", options.output,
          "the file to write (.csv): a line for each example with its file, its most likely class and that one's "
          "probability, where the data have them, and the model's numbers")
      ->required();
  command.footer("Example:\n  lockstep predict --model trained.keras --data fashion-mnist --output predictions.csv");
}

void add_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--model", options.model, model_names() + " (default minigooglenet)");
  add_options(command, options.replicas);
  command.add_option("--batch-size", options.batch_size, "the GLOBAL batch (default 64 per replica)")
      ->check(whole_number_from(1));
  command.add_option("--steps", options.steps, "measured steps (default 30)")->check(whole_number_from(1));
  command.add_option("--warmup", options.warmup, "steps before them (default 5)")->check(whole_number_from(0));
  command.add_option("--seed", options.seed, "of weights and data (default 0)")->check(whole_number_from(0));
  add_precision_option(command, options.dtype_policy);
  add_graphs_option(command, options.cuda_graphs);
  add_result_option(command, options.json);
  command.footer("Example:\n  lockstep bench --model minigooglenet --replicas 2 --batch-size 128 --json");
}

void add_options(CLI::App& command, ScalingOptions& options) {
  ScalingPlan& plan = options.plan;
  command.add_option("--model", options.model, model_names() + " (default minigooglenet)");
  add_options(command, options.devices, "every GPU, or a CPU for each core");
  command
      .add_option("--ways", options.ways,
                  "some of mirrored, reduction-to-one-device and multi-gpu-model "
                  "(default all)")
      ->delimiter(',');
  command
      .add_option("--batch-per-replica", plan.batch_per_replica,
                  "of weak scaling; strong scaling has the batch of all replicas (default 64)")
      ->check(whole_number_from(1));
  command.add_option("--rounds", plan.rounds, "all is measured so often, in turn (default 3)")
      ->check(whole_number_from(1));
  command.add_option("--steps", plan.run.steps, "measured steps of a round (default 10)")->check(whole_number_from(1));
  command.add_option("--warmup", plan.run.warmup, "steps before them (default 3)")->check(whole_number_from(0));
  command.add_option("--seed", plan.run.seed, "of weights and data (default 0)")->check(whole_number_from(0));
  add_precision_option(command, plan.dtype_policy);
  command.add_option("--plot", options.plot, "draw the speed-up by replicas (.png)");
  add_result_option(command, options.json);
  command.footer("Example:\n  lockstep scaling --model minigooglenet --replicas 2 --plot scaling.png");
}

void add_options(CLI::App& command, SummaryOptions& options) {
  command.add_option("--model", options.model, model_or_file_names())->required();
  add_precision_option(command, options.dtype_policy);
  command
      .add_option("--batch-size", options.batch_size,
                  "also the memory that training takes, measured by steps of that many examples on one replica")
      ->check(whole_number_from(1));
  command.add_flag("--json", options.json, "counts as one JSON object on standard output");
  command.footer(
      "Examples:\n  lockstep summary --model minigooglenet\n"
      "  lockstep summary --model resnet50 --batch-size 16 --precision mixed_bfloat16");
}

void add_options(CLI::App& command, ConvertOptions& options) {
  command
      .add_option("IN", options.in,
                  fmt::format("a whole model ({}) or weights alone ({})", model_extensions(), weights_extensions()))
      ->required();
  command.add_option("OUT", options.out, "the same; its ending says the format")->required();
  command.add_option("--model", options.model, "of which IN has the weights: " + model_names());
  command.footer(
      "Weights alone become those of the --model, and can be written as a whole model. What multi_gpu_model nested in "
      "a\n"
      "file comes out flattened: as the model inside.\n"
      "Examples:\n"
      "  lockstep convert old.h5 new.keras\n"
      "  lockstep convert --model minigooglenet trained.weights.h5 trained.safetensors");
}

/// Where the command is given, `chosen` becomes its options.
template <class Options>
void add_command(CLI::App& program, const char* name, const char* description, Command& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command = program.add_subcommand(name, description);
  add_options(*command, *options);
  command->callback([options, &chosen] { chosen = *options; });
}

void add_commands(CLI::App& program, Command& chosen) {
  add_command<DevicesOptions>(program, "devices", "physical and logical devices of this machine", chosen);
  add_command<DoctorOptions>(program, "doctor",
                             "finds what makes training on several devices of this machine hang or crawl", chosen);
  add_command<TrainOptions>(program, "train", "trains a model on a data set over the replicas", chosen);
  add_command<EvaluateOptions>(program, "evaluate",
                               "loss and metrics of a trained model over the replicas, on test data if any", chosen);
  add_command<PredictOptions>(program, "predict",
                              "what a trained model makes of the test data, or of all if there are none", chosen);
  add_command<BenchOptions>(program, "bench",
                            "steady-state speed of training on synthetic data that stay on the device", chosen);
  add_command<ScalingOptions>(program, "scaling",
                              "speed over 1 to N replicas, of MirroredStrategy and of the ways it replaces", chosen);
  add_command<SummaryOptions>(program, "summary", "layers, shapes and parameters of a model", chosen);
  add_command<ConvertOptions>(program, "convert", "a model's file in another format", chosen);
}

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

/// nullptr where there is none of this name.
const CLI::App* find_command(const CLI::App& program, const std::string& name) {
  for (const CLI::App* command : commands_of(program))
    if (command->get_name() == name) return command;
  return nullptr;
}

/// What is wrong where the first argument should name a command and does not; empty where it does.
std::string unknown_command(const CLI::App& program, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-') || find_command(program, arguments[0])) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(program)) names.push_back(command->get_name());
  return fmt::format("'{}' is no command; choose {} or {}{}", arguments[0],
                     fmt::join(names.begin(), names.end() - 1, ", "), names.back(), suggestion(arguments[0], names));
}

/// Which of the arguments is no option of its command, and which one may have been meant; empty when all are.
std::string unknown_option(const CLI::App& program, const std::vector<std::string>& arguments) {
  const CLI::App* const command = arguments.empty() ? nullptr : find_command(program, arguments[0]);
  if (!command) return "";
  std::vector<std::string> names;
  for (const CLI::Option* option : command->get_options())
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string argument = arguments[i].substr(0, arguments[i].find('='));
    if (!argument.starts_with("--") || argument.size() == 2 || command->get_option_no_throw(argument)) continue;
    return fmt::format("{} is no option of {}{}", argument, arguments[0], suggestion(argument.substr(2), names, "--"));
  }
  return "";
}

}  // namespace

Command parse_command_line(const std::vector<std::string>& arguments, const std::string& version) {
  Command chosen;
  CLI::App program("Synchronous data-parallel training on several devices.", "lockstep");
  program.require_subcommand(1);
  program.set_version_flag("--version", version);
  // A script's options come before those that it passes on.
  program.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  program.footer(
      "Examples:\n"
      "  lockstep devices\n"
      "  lockstep train --model minigooglenet --data fashion-mnist --replicas 2 --epochs 1 --plot history.png\n"
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
