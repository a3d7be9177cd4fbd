// Trains for a long time with checkpoints, evaluation and randomly stalling replicas, and detects slow failures:
// growing memory, copies that diverge, a loss that stops falling.
//
//   soak SECONDS
//
// Prints a line for each check and the figures at the end; exit code 1 names the failure.

#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>

#include <fmt/core.h>
#include <support/small_problem.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/verify.h>

#include "process_state.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Growth of memory over time: the slope of the least-squares line through all samples.
class Slope {
 public:
  void add(double seconds, double value) {
    ++count_;
    x_ += seconds;
    y_ += value;
    xx_ += seconds * seconds;
    xy_ += seconds * value;
  }
  double per_second() const {
    const double spread = count_ * xx_ - x_ * x_;
    return spread > 0 ? (count_ * xy_ - x_ * y_) / spread : 0;
  }

 private:
  double count_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

/// Sleeps for up to 4 ms on every twentieth call, at times that are random and differ between replicas.
void stall_at_random() {
  thread_local std::mt19937 random(static_cast<unsigned>(test::this_replica()));
  if (random() % 20 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
}

class Soak {
 public:
  explicit Soak(double seconds)
      : seconds_(seconds), checkpoint_(fmt::format("/tmp/lockstep-soak-{}.weights.h5", getpid())) {
    model_.compile(optimizer_, SparseCategoricalCrossentropy{{.from_logits = true}}, {Accuracy()});
    copy_.compile(SGD({.learning_rate = 1}), SparseCategoricalCrossentropy{{.from_logits = true}}, {Accuracy()});
  }
  ~Soak() { std::remove(checkpoint_.c_str()); }
  Soak(const Soak&) = delete;
  Soak& operator=(const Soak&) = delete;

  void run() {
    double first_loss = 0;
    double loss = 0;
    for (std::uint64_t epoch = 0; seconds_since(start_) < seconds_; ++epoch) {
      loss = train_epoch(epoch);
      if (epoch == 0) first_loss = loss;
      check(epoch, loss);
    }
    report(first_loss, loss);
  }

 private:
  static Model make_model(std::uint64_t seed) {
    const Symbol input = Input({8});
    const Symbol hidden = BatchNormalization()(Dense({.units = 64, .activation = Activation::relu})(input));
    return Model(input, Dense({.units = 3})(Dropout({.rate = 0.2})(hidden)), {.seed = seed});
  }

  /// Trains one epoch; returns the mean loss.
  double train_epoch(std::uint64_t epoch) {
    double total = 0;
    std::int64_t examples = 0;
    for (const DistributedBatch& batch : train_.epoch(epoch)) {
      const PerReplica<Tensor> losses = strategy_.run(
          [&](const Batch& local) {
            stall_at_random();
            GradientTape tape;
            const Tensor logits = model_(local.x(), Mode::train);
            const Tensor sum_of_own = sum(sparse_softmax_cross_entropy(logits, local.y()));
            const Tensor share = sum_of_own / static_cast<double>(batch.global_size());
            stall_at_random();
            optimizer_.minimize(tape, share, model_.trainable_variables());
            return sum_of_own;
          },
          batch);
      total += strategy_.reduce(ReduceOp::sum, losses).item<float>();
      examples += batch.global_size();
      ++steps_;
    }
    return total / static_cast<double>(examples);
  }

  /// Checks that the copies are bit-equal and the checkpoint has the model's weights.
  void check(std::uint64_t epoch, double loss) {
    verify_mirrored(model_.variables());
    model_.save_weights(checkpoint_);
    copy_.load_weights(checkpoint_);
    require<BrokenInvariant>(test::weights_of(copy_) == test::weights_of(model_),
                             "epoch {}: the checkpoint's weights are not the model's", epoch);
    const Logs logs = model_.evaluate(test_);
    const double time = seconds_since(start_);
    const double mib = static_cast<double>(test::process_state().resident_bytes) / (1 << 20);
    if (time > seconds_ / 4) memory_.add(time, mib);
    if (time < next_line_) return;
    next_line_ = time + seconds_ / 10;
    fmt::print("{:6.1f} s: epoch {}, {} steps, loss {:.4f}, test loss {:.4f}, accuracy {:.3f}, resident {:.2f} MiB\n",
               time, epoch, steps_, loss, logs.at("loss"), logs.at("accuracy"), mib);
    std::fflush(stdout);
  }

  void report(double first_loss, double last_loss) const {
    const double growth = memory_.per_second() * seconds_ * 3 / 4;  // over the time in which memory was sampled
    fmt::print(
        "{} steps; loss {:.4f} at first, {:.4f} at last; resident memory {:+.3f} MiB per hour, {:+.3f} MiB in all\n",
        steps_, first_loss, last_loss, memory_.per_second() * 3600, growth);
    constexpr double most_mib = 2;
    require<BrokenInvariant>(growth < most_mib || !test::memory_is_meaningful,
                             "memory has grown by {:.2f} MiB, {} at most would be flat", growth, most_mib);
    require<BrokenInvariant>(last_loss < first_loss / 2, "the loss has not fallen by half");
  }

  const Clock::time_point start_ = Clock::now();
  const double seconds_;
  const std::string checkpoint_;
  const MirroredStrategy strategy_{logical_cpus(3)};
  Model model_ = strategy_.scope([] { return make_model(5); });
  Model copy_ = strategy_.scope([] { return make_model(6); });
  const Adam optimizer_{{.learning_rate = 1e-3}};
  const DistributedDataset train_ =
      strategy_.distribute(test::SmallProblem(2000, 1).dataset().shuffle({.seed = 3}).batch(100).prefetch());
  const Dataset test_ = test::SmallProblem(300, 2).dataset().batch(100);
  Slope memory_;
  std::int64_t steps_ = 0;
  double next_line_ = 0;
};

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: soak SECONDS");
    lockstep::Soak(std::stod(argv[1])).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
