// A training program for fault tests: two replicas, with all kinds of state that a backup must keep, and a backup after
// every step.
//
//   fault_trainer FOLDER EPOCHS WEIGHTS
//
// Resumes from the backup in FOLDER, if there is one ("-": no backup), prints "begun" after the first step, trains
// until EPOCHS are done, writes the weights to WEIGHTS and keeps the backup. An error prints one line to standard
// error, with exit code 1.

#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <support/small_problem.h>

#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/training/callbacks/backup_and_restore.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>

namespace lockstep {
namespace {

/// Wide layers, so that most of the time is spent writing.
Model make_model() {
  const Symbol input = Input({8});
  const Symbol hidden = BatchNormalization()(Dense({.units = 4096, .activation = Activation::relu})(input));
  return Model(input, Dense({.units = 3})(Dropout({.rate = 0.3})(hidden)), {.seed = 5});
}

void train(const std::string& folder, int epochs, const std::string& weights) {
  const MirroredStrategy strategy(logical_cpus(2));
  Model model = strategy.scope(make_model);
  model.compile(Adam({.learning_rate = 1e-3}), SparseCategoricalCrossentropy{{.from_logits = true}}, {Accuracy()});
  FitOptions options{.epochs = epochs, .verbose = 0};
  if (folder != "-")
    options.callbacks.push_back(std::make_shared<BackupAndRestore>(
        folder, BackupAndRestoreOptions{.save_freq = 1, .delete_checkpoint = false}));
  options.callbacks.push_back(std::make_shared<LambdaCallback>(
      LambdaCallbackOptions{.on_train_batch_end = [begun = false](Model&, const StepReport&) mutable {
        if (begun) return;
        begun = true;
        fmt::print("begun\n");
        std::fflush(stdout);
      }}));
  model.fit(test::SmallProblem(30).dataset().shuffle({.seed = 3}).batch(7), options);
  model.save_weights(weights);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw std::runtime_error("usage: fault_trainer FOLDER EPOCHS WEIGHTS");
    lockstep::train(argv[1], std::stoi(argv[2]), argv[3]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
