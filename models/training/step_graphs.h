#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/models/training/step_compute.h>
#include <lockstep/runtime/memory/memory_pool.h>

namespace lockstep {

/// Why the steps of such a model cannot be captured, in a line; empty if no reason is known.
std::string why_not_captured(const StepCompute& compute, const std::vector<LogicalDevice>& devices);

/// One replica's training steps on a GPU, as graphs for shapes that recur. The first step of a
/// shape creates the libraries' state for it; the next ones use separate memory, until one needs no
/// more; then a step up to its gradients is captured, and from then on launched. The replicas'
/// exchange and the update are not part of the graphs. On the replica's thread, except the destructor.
class StepGraphs {
 public:
  /// For a replica on `gpu`; `warned`, which all replicas share, is set by the first one that gives up and says why.
  StepGraphs(const StepCompute& compute, const LogicalDevice& gpu, std::atomic<bool>& warned)
      : compute_(compute), gpu_(gpu), warned_(warned), pool_(gpu) {}

  /// As StepCompute::run, with the same bits. What it returns is there until the replica's next step.
  Forward run(const Batch& local, std::int64_t global_size);

 private:
  /// What distinguishes steps.
  struct Key {
    std::int64_t global_size = 0;  ///< the loss is divided by it
    std::size_t inputs = 0;
    std::size_t targets = 0;
    std::vector<std::pair<DType, Shape>> tensors{};  ///< of all that the batch has
    friend bool operator==(const Key& a, const Key& b) = default;
  };
  struct Captured {
    Forward forward{};                     ///< where the graphs leave it
    std::vector<const void*> variables{};  ///< where the graphs find them
    CapturedGradients gradients{};         ///< destroyed first: they may still run
  };
  struct Step {
    Key key{};
    Batch inputs{};  ///< what the graphs read, of the pool
    int warm_ups = 0;
    bool repeats = false;  ///< the last warm-up found all its memory in the pool
    std::optional<Captured> captured{};
  };

  static Key key_of(const Batch& local, std::int64_t global_size);
  /// Null when such a step has not been seen lately.
  Step* known(const Key& key);
  void take_in(Step& step, const Batch& local);
  Forward warm_up(Step& step);
  void capture(Step& step);
  Forward launch(const Step& step) const;
  /// All addresses of the replica's variables.
  std::vector<const void*> addresses() const;
  void give_up(const char* why);

  const StepCompute& compute_;
  LogicalDevice gpu_;
  std::atomic<bool>& warned_;
  bool given_up_ = false;
  MemoryPool pool_;
  std::vector<std::unique_ptr<Step>> steps_;  ///< the one used last at the end
};

}  // namespace lockstep
