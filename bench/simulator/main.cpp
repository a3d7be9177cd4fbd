#include <cmath>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/bench/simulator/simulator.h>
#include <lockstep/runtime/core/error.h>

namespace {

using namespace lockstep;
using namespace lockstep::simulation;
using Json = nlohmann::ordered_json;

constexpr int work_failed = 1;
constexpr int wrong_input = 2;
constexpr double mib = 1024.0 * 1024;
constexpr double threshold = 0.9;

struct Options {
  std::string step;
  std::string machine;
  std::string algorithm = "best";
  std::vector<int> devices;
  double bucket_mb = 0;
  bool json = false;
};

int complain(const std::string& message, int exit_code) {
  fmt::print(stderr, "lockstep_simulator: {}\n", message.substr(0, message.find('\n')));
  return exit_code;
}

/// Powers of two from 8 to 16,384.
std::vector<int> usual_devices() {
  std::vector<int> devices;
  for (int count = 8; count <= 16384; count *= 2) devices.push_back(count);
  return devices;
}

Fixed fixed_by(const Options& options) {
  Fixed fixed;
  for (const AllReduce algorithm : {AllReduce::ring, AllReduce::tree, AllReduce::hierarchical, AllReduce::exchange})
    if (options.algorithm == name(algorithm)) fixed.algorithm = algorithm;
  if (options.bucket_mb > 0) fixed.bucket_bytes = static_cast<std::int64_t>(std::ceil(options.bucket_mb * mib));
  return fixed;
}

Json as_json(const Prediction& prediction) {
  return {{"devices", prediction.devices},
          {"algorithm", name(prediction.algorithm)},
          {"bucket_mb", static_cast<double>(prediction.bucket_bytes) / mib},
          {"buckets", prediction.buckets},
          {"step_ms", 1e3 * prediction.step_s},
          {"communication_ms", 1e3 * prediction.communication.total_s()},
          {"latency_ms", 1e3 * prediction.communication.latency_s},
          {"bandwidth_ms", 1e3 * prediction.communication.bandwidth_s},
          {"hidden_share", prediction.hidden_share},
          {"efficiency", prediction.efficiency}};
}

void print_json(const MeasuredStep& step, const Machine& machine, const std::vector<Prediction>& predictions,
                const std::optional<Break>& end) {
  Json result{{"step", step.name},
              {"machine", machine.name},
              {"one_device_ms", 1e3 * step_on_one_device_s(step)},
              {"predictions", Json::array()},
              {"threshold", threshold},
              {"breaks", nullptr}};
  for (const Prediction& prediction : predictions) result["predictions"].push_back(as_json(prediction));
  if (end)
    result["breaks"] = {
        {"devices", end->prediction.devices}, {"efficiency", end->prediction.efficiency}, {"bound", name(end->bound)}};
  fmt::print("{}\n", result.dump());
}

void print_table(const MeasuredStep& step, const Machine& machine, const std::vector<Prediction>& predictions) {
  fmt::print(stderr, "{}, {:.1f} ms on one device, on: {}\n", step.name, 1e3 * step_on_one_device_s(step),
             machine.name);
  fmt::print(stderr, "{:>8} {:<13} {:>12} {:>8} {:>10} {:>18} {:>7} {:>11}\n", "Devices", "All-reduce", "Bucket (MiB)",
             "Buckets", "Step (ms)", "Communication (ms)", "Hidden", "Efficiency");
  for (const Prediction& p : predictions)
    fmt::print(stderr, "{:>8} {:<13} {:>12.2f} {:>8} {:>10.2f} {:>18.2f} {:>6.1f}% {:>10.1f}%\n", p.devices,
               name(p.algorithm), static_cast<double>(p.bucket_bytes) / mib, p.buckets, 1e3 * p.step_s,
               1e3 * p.communication.total_s(), 100 * p.hidden_share, 100 * p.efficiency);
}

void print_end(const std::vector<Prediction>& predictions, const std::optional<Break>& end) {
  if (!end) {
    fmt::print(stderr, "Efficiency is {:.0f}% or more on up to {} devices.\n", 100 * threshold,
               predictions.back().devices);
    return;
  }
  const Cost& cost = end->prediction.communication;
  fmt::print(stderr,
             "Scaling breaks at {} devices: efficiency {:.1f}% < {:.0f}%, {} bound ({:.2f} ms of latency, {:.2f} ms "
             "of bandwidth).\n",
             end->prediction.devices, 100 * end->prediction.efficiency, 100 * threshold, name(end->bound),
             1e3 * cost.latency_s, 1e3 * cost.bandwidth_s);
}

void run(const Options& options) {
  const MeasuredStep step = read_step(options.step);
  const Machine machine = read_machine(options.machine);
  std::vector<Prediction> predictions;
  for (const int devices : options.devices.empty() ? usual_devices() : options.devices)
    predictions.push_back(predict_best(step, machine, devices, fixed_by(options)));
  const std::optional<Break> end = where_scaling_breaks(predictions, threshold);
  print_table(step, machine, predictions);
  print_end(predictions, end);
  if (options.json) print_json(step, machine, predictions, end);
}

void add_options(CLI::App& program, Options& options) {
  program.add_option("--step", options.step, "JSON file of a measured step, as in bench/simulator/steps")->required();
  program.add_option("--machine", options.machine, "JSON file of a machine, as in bench/simulator/machines")
      ->required();
  program
      .add_option("--algorithm", options.algorithm,
                  "ring, tree, hierarchical, exchange, or the best of the first three (default best)")
      ->check(CLI::IsMember({"ring", "tree", "hierarchical", "exchange", "best"}));
  program.add_option("--devices", options.devices, "numbers of devices, as 8,16 (default 8 to 16384, doubling)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 30).description(""));
  program
      .add_option("--bucket-mb", options.bucket_mb, "size at which a bucket is closed, in MiB (default the best size)")
      ->check(CLI::Range(1e-3, 1e6).description(""));
  program.add_flag("--json", options.json, "the result as one JSON object on standard output");
  program.footer(
      "Example:\n  lockstep_simulator --step steps/resnet50-a100-mxnet-fp16.json --machine machines/h100.json");
}

int run(int argc, char** argv) {
  CLI::App program("Predicts training steps on machines that are not at hand.", "lockstep_simulator");
  Options options;
  add_options(program, options);
  try {
    program.parse(argc, argv);
    run(options);
  } catch (const CLI::Success& help) {
    return program.exit(help);
  } catch (const CLI::ParseError& error) {
    return complain(fmt::format("{} (see --help)", error.what()), wrong_input);
  } catch (const InvalidArgument& error) {
    return complain(error.what(), wrong_input);
  } catch (const InputError& error) {
    return complain(error.what(), wrong_input);
  } catch (const std::exception& error) {
    return complain(error.what(), work_failed);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
