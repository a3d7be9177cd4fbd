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

/// The reason why the steps of a model cannot be captured, in one line; empty if no reason is known.
std::string why_not_captured(const StepCompute& compute, const std::vector<LogicalDevice>& devices);

/// One replica's training steps on a GPU, run as CUDA graphs for shapes that recur. The first step of a shape runs
/// eagerly, so that libraries such as cuDNN create their state for it. The next steps are warm-ups in a separate memory
/// pool, until one of them needs no new memory. The step after it is captured up to its gradients; that step and the
/// later steps of this shape launch the graphs. The graphs contain neither the exchange between replicas nor the
/// update.
///
/// Graphs are kept for the four most recently used shapes. If the address of a variable has changed, the shape's graphs
/// are dropped, and its next steps are warm-ups again. A batch without rows runs eagerly. All later steps run eagerly
/// once a capture has failed, or once the fourth warm-up of a shape has still needed new memory.
///
/// Call run() only on the replica's thread; the destructor may run on any thread.
class StepGraphs {
 public:
  /// Makes the graphs of a replica on `gpu`. All replicas share `warned`: only the first replica that gives up logs the
  /// reason.
  StepGraphs(const StepCompute& compute, const LogicalDevice& gpu, std::atomic<bool>& warned)
      : compute_(compute), gpu_(gpu), warned_(warned), pool_(gpu) {}

  /// Like StepCompute::run, with bit-identical results. The result is valid until the replica's next step.
  Forward run(const Batch& local, std::int64_t global_size);

 private:
  /// Steps with equal keys can use the same graphs.
  struct Key {
    std::int64_t global_size = 0;  ///< rows of the global batch, by which the loss is divided
    std::size_t inputs = 0;
    std::size_t targets = 0;
    std::vector<std::pair<DType, Shape>> tensors{};  ///< dtype and shape of every tensor of the batch
    friend bool operator==(const Key& a, const Key& b) = default;
  };
  struct Captured {
    Forward forward{};                     ///< the tensors that the graphs write
    std::vector<const void*> variables{};  ///< addresses of the variables that the graphs use
    CapturedGradients gradients{};         ///< destroyed first, since its graphs may still run
  };
  struct Step {
    Key key{};
    Batch inputs{};  ///< the tensors that the graphs read, in the pool
    int warm_ups = 0;
    bool repeats = false;  ///< whether the last warm-up found all its memory in the pool
    std::optional<Captured> captured{};
  };

  static Key key_of(const Batch& local, std::int64_t global_size);
  /// The kept step with this key; null if there is none.
  Step* known(const Key& key);
  void take_in(Step& step, const Batch& local);
  Forward warm_up(Step& step);
  void capture(Step& step);
  Forward launch(const Step& step) const;
  /// The addresses of this replica's copies of all variables.
  std::vector<const void*> addresses() const;
  void give_up(const char* why);

  const StepCompute& compute_;
  LogicalDevice gpu_;
  std::atomic<bool>& warned_;
  bool given_up_ = false;
  MemoryPool pool_;
  std::vector<std::unique_ptr<Step>> steps_;  ///< the most recently used step is last
};

}  // namespace lockstep
