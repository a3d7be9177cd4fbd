// The lockstep side of fit_fuzz.py, which runs this program and compares the results. Reads one training from each line
// of stdin:
//   FOLDER MODEL STRATEGY REPLICAS BATCH VALIDATION_BATCH INITIAL_EPOCH EPOCHS STEPS_PER_EPOCH OPTION...
// Opens FOLDER/MODEL, a compiled model, on the replicas, trains it on the rows in FOLDER and saves it as
// FOLDER/trained.keras. FOLDER has train_x0.npy, train_x1.npy, ..., train_y0.npy, ..., and may have train_weight.npy;
// valid_x0.npy and so on if VALIDATION_BATCH is not 0. STEPS_PER_EPOCH of 0 means the whole pass. STRATEGY is the name
// of cross-device ops, or "central". An OPTION is one of
//   class_weight CLASS WEIGHT
//   share NUMBER                                        for the next replica
//   early_stopping MONITOR MIN_DELTA PATIENCE RESTORE_BEST_WEIGHTS START_FROM_EPOCH
//   reduce_lr MONITOR FACTOR PATIENCE MIN_DELTA COOLDOWN
// If there is validation data, then evaluates it and predicts its outputs. Prints a line for each event of a callback:
// Keras' name of the event, then lines with the number of the epoch or batch and with the values of the logs, each
// after its name. For a predicted batch, the logs are the mean absolute values of the outputs. The last line is "done",
// or "failed" and the error.

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

namespace lockstep {
namespace {

/// Reads NumPy's format for a C-order array of float32 or int64.
Tensor read_npy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::size_t end = bytes.find('\n');
  require<InputError>(in.good() && end != std::string::npos, "{} cannot be read", path);
  const std::string header = bytes.substr(0, end);
  std::istringstream sizes(header.substr(header.find('(') + 1));
  Shape shape;
  for (std::int64_t size = 0; sizes >> size; sizes.ignore()) shape.push_back(size);
  const auto as = [&]<class T>(T /*element*/) {
    std::vector<T> values(static_cast<std::size_t>(shape.elements()));
    require<InputError>(bytes.size() - end - 1 == values.size() * sizeof(T), "{} has another size", path);
    std::memcpy(values.data(), bytes.data() + end + 1, values.size() * sizeof(T));
    return Tensor::from(values, shape);
  };
  return header.find("<i8") == std::string::npos ? as(float{}) : as(std::int64_t{});
}

Dataset read_rows(const std::string& prefix) {
  const auto read_all = [&](const char* kind) {
    std::vector<Tensor> tensors;
    for (std::string path;
         path = fmt::format("{}_{}{}.npy", prefix, kind, tensors.size()), std::filesystem::exists(path);)
      tensors.push_back(read_npy(path));
    return tensors;
  };
  const std::string weight = prefix + "_weight.npy";
  std::vector<Tensor> weights;
  if (std::filesystem::exists(weight)) weights.push_back(read_npy(weight));
  return Dataset::from_tensors({read_all("x"), read_all("y"), weights});
}

struct PrintEvents : Callback {
  static void print(const char* event, const Logs& logs = {}) {
    fmt::print("{}\n", event);
    for (const auto& [name, value] : logs) fmt::print("{} {:.9g}\n", name, value);
  }
  static void print(const char* event, const char* what, std::int64_t number, Logs logs = {}) {
    logs[what] = static_cast<double>(number);
    print(event, logs);
  }

  void on_train_begin(Model& /*model*/) override { print("train_begin"); }
  void on_epoch_begin(Model& /*model*/, const EpochPlan& plan) override { print("epoch_begin", "epoch", plan.epoch); }
  void on_train_batch_begin(Model& /*model*/, std::int64_t batch) override {
    print("train_batch_begin", "batch", batch);
  }
  void on_train_batch_end(Model& /*model*/, const StepReport& report) override {
    print("train_batch_end", "batch", report.step_in_epoch, report.running);
  }
  void on_epoch_end(Model& /*model*/, int epoch, const Logs& logs) override {
    print("epoch_end", "epoch", epoch, logs);
  }
  void on_train_end(Model& /*model*/) override { print("train_end"); }
  void on_test_begin(Model& /*model*/) override { print("test_begin"); }
  void on_test_batch_begin(Model& /*model*/, std::int64_t batch) override { print("test_batch_begin", "batch", batch); }
  void on_test_batch_end(Model& /*model*/, const TestBatchReport& report) override {
    print("test_batch_end", "batch", report.batch, report.running());
  }
  void on_test_end(Model& /*model*/, const Logs& logs) override { print("test_end", logs); }
  void on_predict_begin(Model& /*model*/) override { print("predict_begin"); }
  void on_predict_batch_begin(Model& /*model*/, std::int64_t batch) override {
    print("predict_batch_begin", "batch", batch);
  }
  void on_predict_batch_end(Model& /*model*/, const PredictBatchReport& report) override {
    Logs sizes;
    for (const Tensor& output : report.outputs())
      sizes[fmt::format("output_{}", sizes.size())] = static_cast<double>(mean(abs(output)).item<float>());
    print("predict_batch_end", "batch", report.batch, sizes);
  }
  void on_predict_end(Model& /*model*/) override { print("predict_end"); }
};

Strategy make_strategy(const std::string& name, int replicas) {
  if (name == "central") return CentralStorageStrategy(logical_cpus(replicas));
  return MirroredStrategy(logical_cpus(replicas), {.cross_device_ops = parse_cross_device_ops(name)});
}

/// Reads one OPTION from the line.
void read_option(std::istringstream& line, FitOptions& options) {
  std::string name;
  line >> name;
  if (name == "class_weight") {
    std::int64_t label = 0;
    line >> label;
    line >> options.class_weight[label];
  } else if (name == "share") {
    line >> options.distribute.shares.emplace_back();
  } else if (name == "early_stopping") {
    EarlyStoppingOptions stop;
    line >> stop.monitor >> stop.min_delta >> stop.patience >> stop.restore_best_weights >> stop.start_from_epoch;
    options.callbacks.push_back(std::make_shared<EarlyStopping>(stop));
  } else if (name == "reduce_lr") {
    ReduceLROnPlateauOptions reduce;
    line >> reduce.monitor >> reduce.factor >> reduce.patience >> reduce.min_delta >> reduce.cooldown;
    options.callbacks.push_back(std::make_shared<ReduceLROnPlateau>(reduce));
  }
  require(!line.fail() && !name.empty(), "usage: see fit_driver.cpp");
}

void train(std::istringstream line) {
  std::string folder;
  std::string file;
  std::string kind;
  int replicas = 0;
  std::int64_t batch = 0;
  std::int64_t validation_batch = 0;
  std::int64_t steps = 0;
  FitOptions options{.callbacks = {std::make_shared<PrintEvents>()}, .verify_every = 1};
  line >> folder >> file >> kind >> replicas >> batch >> validation_batch;
  line >> options.initial_epoch >> options.epochs >> steps;
  while (line >> std::ws && !line.eof()) read_option(line, options);
  if (steps > 0) options.steps_per_epoch = steps;
  if (validation_batch > 0) options.validation = read_rows(folder + "/valid").batch(validation_batch);
  const Strategy strategy = make_strategy(kind, replicas);
  const auto scope = strategy.scope();
  Model model = load_model(folder + "/" + file);
  model.fit(read_rows(folder + "/train").batch(batch), options);
  save_model(model, folder + "/trained.keras");
  if (!options.validation) return;
  (void)model.evaluate(*options.validation, {.callbacks = {options.callbacks.front()}});
  (void)model.predict_all(*options.validation, {.callbacks = {options.callbacks.front()}});
}

}  // namespace
}  // namespace lockstep

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      lockstep::train(std::istringstream(line));
      fmt::print("done\n");
    } catch (const std::exception& error) {
      fmt::print("failed {}\n", error.what());
    }
    std::fflush(stdout);
  }
}
