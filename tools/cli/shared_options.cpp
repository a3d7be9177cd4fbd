#include "shared_options.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/strategy/comm/cross_device_ops.h>

#include "data_pipeline.h"
#include "nearest_name.h"

namespace lockstep::cli {

CLI::Validator whole_number_from(std::int64_t lowest, std::int64_t highest) {
  return CLI::Validator(
      [lowest, highest](std::string& text) {
        std::int64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        const bool is_whole = error == std::errc() && stop == end;
        if (is_whole && value >= lowest && value <= highest) return std::string();
        const bool is_large = error == std::errc::result_out_of_range || (is_whole && value > highest);
        const std::string limit = is_large ? fmt::format(" and at most {}", highest) : "";
        return fmt::format("must be a whole number of at least {}{}, got '{}'", lowest, limit, text);
      },
      "");
}

CLI::Validator any_number() {
  return CLI::Validator(
      [](std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && !text.empty()) return std::string();
        return fmt::format("must be a number, got '{}'", text);
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) {
        return std::string(text.empty() ? "has an empty value; give one, or leave the option out" : "");
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> names) {
  return CLI::Validator(
      [names = std::move(names)](std::string& text) {
        if (std::ranges::find(names, text) != names.end()) return std::string();
        return fmt::format("must be one of {}, got '{}'{}", fmt::join(names, ", "), text, suggestion(text, names));
      },
      "");
}

void add_options(CLI::App& command, DeviceOptions& options, const std::string& by_default) {
  command.option_defaults()->group("Devices and replicas");
  auto* const count =
      command
          .add_option(
              "--replicas", options.replicas,
              fmt::format("number of replicas: on logical GPUs, or without GPUs on logical CPUs that share the cores "
                          "(default: {})",
                          by_default))
          ->check(whole_number_from(1, INT_MAX));
  command
      .add_option("--devices", options.devices,
                  "devices of the replicas, e.g. GPU:0,GPU:1 or CPU:0,CPU:1 (default: as for --replicas)")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->excludes(count);
}

void add_options(CLI::App& command, ReplicaOptions& options) {
  using Options = ReplicaOptions;
  add_options(command, options.devices, "every GPU, or 2 CPUs; for each worker its share of the GPUs, or 1 CPU");
  command
      .add_option(
          "--strategy", options.strategy,
          "mirrored (default): a copy of the weights for each replica; one-device; central-storage: one copy for "
          "all; multi-gpu-model: one copy, outputs concatenated on the CPU, for comparison; multi-worker: "
          "mirrored over all processes that mpirun or srun has started")
      ->check(one_of({Options::mirrored, Options::one_device, Options::central_storage, Options::multi_gpu,
                      Options::multi_worker}));
  std::vector<std::string> ways;
  for (const CrossDeviceOps ops : all_cross_device_ops) ways.emplace_back(name(ops));
  command
      .add_option("--cross-device-ops", options.cross_device_ops,
                  fmt::format("how replicas combine their values: {}", fmt::join(ways, ", ")))
      ->check(one_of(ways));
  command
      .add_option("--wire-dtype", options.wire_dtype,
                  "type in which GPUs exchange gradients: float32 (default), or bfloat16, which halves the bytes")
      ->check(one_of({Options::float32, Options::bfloat16}));
  command.add_option("--timeout", options.timeout_s, "longest wait for a replica or a worker")
      ->type_name("SECONDS")
      ->check(whole_number_from(1));
  command.add_flag("--deterministic", options.deterministic,
                   "bitwise identical results in every run, also on GPUs, where cuDNN and NCCL may otherwise choose "
                   "other algorithms; results on CPUs are always bitwise identical");
}

void add_batch_size(CLI::App& command, std::int64_t& batch_size) {
  command.add_option("--batch-size", batch_size, "the GLOBAL batch, as in Keras' fit (default 64 per replica)")
      ->type_name("EXAMPLES")
      ->check(whole_number_from(1));
}

void add_options(CLI::App& command, DataOptions& options) {
  command.option_defaults()->group("Data");
  command.add_option("--data", options.source, data_names());
  command
      .add_option(
          "--target", options.target,
          "csv column or tfrecord feature with the targets. Texts are class names; numbers are class labels, or "
          "regression targets for a model with one output (default: of csv the last column, of tfrecord "
          "image/class/label or label, for predict none)")
      ->type_name("NAME");
  command
      .add_option(
          "--inputs", options.inputs,
          "csv columns or tfrecord features that are the model's input, in this order (default: all but the target; "
          "of tfrecord image/encoded or image, otherwise all numeric features except the target)")
      ->type_name("NAME,...")
      ->delimiter(',');
  command
      .add_option(
          "--vocabulary", options.vocabulary,
          "vocabulary of --data text: characters or byte-pairs, which only train can learn, or a vocabulary file: "
          ".txt, or vocab.json with merges.txt beside it (default: the one that train wrote beside the model or "
          "its weights, otherwise characters)")
      ->type_name("KIND|FILE");
  command
      .add_option(
          "--sequence-length", options.sequence_length,
          "number of ids per example (default: that of the model's input; needed for a saved model that takes any "
          "number of ids)")
      ->type_name("IDS")
      ->check(whole_number_from(1, INT_MAX));
  command
      .add_option(
          "--limit", options.limit,
          "use only the first N examples (of data with test examples, N training examples); of an image folder, N "
          "images across all classes; of shuffled tfrecord, N records that --seed chooses (default all)")
      ->type_name("EXAMPLES")
      ->check(whole_number_from(1));
  command.add_option("--limit-test", options.limit_test, "use only the first N test examples (default all)")
      ->type_name("EXAMPLES")
      ->check(whole_number_from(1));
  command
      .add_option("--rescaling", options.rescaling,
                  "scaling of the values of csv, hdf5, numpy and tfrecord and of the pixels of images: none (they stay "
                  "0 to 255, as "
                  "in Keras), zero-to-one (/ 255), minus-one-to-one (/ 127.5 - 1)")
      ->check(one_of(rescaling_names()));
  add_batch_size(command, options.batch_size);
}

void add_options(CLI::App& command, CompileOptions& options) {
  command.option_defaults()->group("Loss and metrics");
  CLI::Option* const named = command.add_option(
      "--loss", options.loss,
      "loss by its name in Keras, such as sparse_categorical_crossentropy; replaces the model's, and is "
      "needed for a saved model without one (default the model's)");
  command.add_flag("--from-logits", options.from_logits, "the model outputs logits, which --loss then expects")
      ->needs(named);
  command
      .add_option("--metrics", options.metrics,
                  "metrics by their names in Keras, such as accuracy mae (default the model's)")
      ->type_name("NAME...");
}

void add_precision_option(CLI::App& command, std::optional<DTypePolicy>& policy) {
  command
      .add_option_function<std::string>(
          "--precision", [&policy](const std::string& text) { policy = parse_dtype_policy(text); },
          "float32 (default), or mixed_bfloat16: layers compute in bfloat16, variables stay float32")
      ->check(one_of({"float32", "mixed_bfloat16"}));
}

void add_graphs_option(CLI::App& command, bool& cuda_graphs) {
  command.add_flag("--cuda-graphs", cuda_graphs,
                   "on GPUs, capture the forward and backward pass of a step and launch it as CUDA graphs");
}

void add_result_option(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "write the result as one JSON object to standard output");
}

}  // namespace lockstep::cli
