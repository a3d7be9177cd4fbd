#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

class BackwardContext;
/// Given the gradients of an op's outputs, contributes those of its inputs. The thread's device is then that of the
/// first output.
using BackwardFn = std::function<void(BackwardContext&)>;
/// Computes an op's output once more, from what the op keeps for its gradient, and writes it to `out`, of its shape,
/// dense or a channel slice.
using RecomputeFn = std::function<void(const Tensor& out)>;
/// Whether an op reads its inputs as a whole or looks up rows of them, so that their gradients can be IndexedSlices.
enum class Reads { whole, rows };

/// An op's output that is recomputed when it is needed, once for all who share this.
class Recomputed {
 public:
  /// `recompute` makes what has `like`'s shape and dtype.
  Recomputed(const Tensor& like, RecomputeFn recompute)
      : shape_(like.shape()), dtype_(like.dtype()), recompute_(std::move(recompute)) {}
  /// Computed by the first call, on the calling thread's device.
  const Tensor& tensor();

 private:
  Shape shape_;
  DType dtype_;
  RecomputeFn recompute_;
  Tensor tensor_{};
};

/// Records the ops that its thread runs on watched tensors, for one call of `gradient` or `backward`. Ops
/// register their gradients (`record`). Trainable parameters are watched automatically. Not for other
/// threads, which may only destroy it; tapes of one thread nest, and each records for itself.
class GradientTape {
 public:
  GradientTape();
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// Makes gradients with respect to `tensor` available.
  void watch(const Tensor& tensor);
  /// d(sum of target)/d(source) for each source; undefined where the target does not depend on it.
  /// Throws LogicError when the tape has been used, or the target was not recorded on it.
  std::vector<Tensor> gradient(const Tensor& target, std::span<const Tensor> sources);
  /// The same, but the gradient of a source that no op computed, and of which only rows were looked up, stays
  /// IndexedSlices.
  std::vector<DenseOrSparse> gradient_or_slices(const Tensor& target, std::span<const Tensor> sources);
  /// Whether all ops that have read `source` so far looked up rows of it; false when none has.
  bool only_rows_read(const Tensor& source) const;

  /// A source and the form of its gradient.
  struct Slot {
    Tensor source;             ///< the gradient is with respect to it
    Tensor destination{};      ///< the memory to write it to; undefined: new memory
    bool may_be_rows = false;  ///< it may be IndexedSlices, unless an op computed the source
  };
  /// Called with a slot's number and gradient as soon as the gradient is final. The gradient is undefined
  /// when the target does not depend on the source, whose destination is then untouched. Every slot is reported once.
  using FinalHook = std::function<void(int slot, const DenseOrSparse& gradient)>;
  /// Like `gradient`, into the caller's memory.
  void backward(const Tensor& target, std::span<const Slot> slots, const FinalHook& final);

 private:
  friend class BackwardContext;
  friend bool recording(std::span<const Tensor> inputs);
  friend void record(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     BackwardFn backward, Reads reads);
  friend void record_recompute(const Tensor& output, const RecomputeFn& recompute);
  friend RecomputeFn recompute_of(const Tensor& tensor);
  friend std::shared_ptr<Recomputed> recomputed(const Tensor& tensor);

  struct Node {                            // a tensor that the tape tracks
    Tensor gradient;                       // what has been contributed so far
    bool owned = false;                    // the tape may add to `gradient` in place
    IndexedSlices rows;                    // what has been contributed so far as rows, instead of `gradient`
    bool may_be_rows = false;              // a source: the caller takes rows
    Tensor destination;                    // where a source's gradient goes, if the caller said so
    int first_use = -1;                    // the earliest op that read it: the last one to contribute
    int uses = 0;                          // ops that read it
    bool rows_sum_to_zero = false;         // one of them stated so of its contribution
    bool read_as_whole = false;            // by some op
    bool computed = false;                 // by an op on the tape, which needs the whole gradient
    int slot = -1;                         // its number among the sources
    bool keep = false;                     // a source: its gradient outlives the op that made the tensor
    RecomputeFn recompute;                 // if its op registered one, until that op's gradient
    std::weak_ptr<Recomputed> recomputed;  // kept by its readers
  };
  struct Entry {
    const char* op;
    std::vector<int> inputs;  // nodes; -1 when not tracked
    std::vector<int> outputs;
    BackwardFn backward;
    LogicalDevice device;  // of its results
    bool placed;           // in a DeviceScope
  };

  /// The node of an output that can be recomputed, on the first tape that has one; else null.
  static Node* recomputable(const Tensor& tensor);
  bool tracks(const Tensor& tensor) const;
  int node_of(const Tensor& tensor);
  void add_entry(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                 const BackwardFn& backward, Reads reads);
  void stop();
  void require_its_thread() const;
  void run(const Tensor& target, std::span<const Slot> slots, const FinalHook& final);
  void run_entry(Entry& entry);

  std::shared_ptr<std::vector<GradientTape*>> open_tapes_;  // of the thread that made it, this one among them
  std::unordered_map<std::uint64_t, int> node_by_id_;
  std::vector<Node> nodes_;
  std::vector<Entry> entries_;
  bool used_ = false;
};

/// One op's view of a running backward pass.
class BackwardContext {
 public:
  /// d(target)/d(output i); undefined when nothing depends on that output. May be strided.
  const Tensor& gradient(int output) const;
  /// Whether the gradient of input i is wanted at all.
  bool needs(int input) const;
  /// What other ops have contributed to input i so far; undefined at first.
  const Tensor& contributed(int input) const;
  /// Whether `contributed` may be added to in place.
  bool owns_contributed(int input) const;
  /// The memory that the caller of backward chose for input i's gradient, while nothing is there; else undefined.
  const Tensor& destination(int input) const;
  /// Sets all contributions to input i. `owned`: nobody else reads or writes this memory, so it may be added to later.
  void set(int input, const Tensor& gradient, bool owned);

  /// States that this op's contribution to input i sums to 0 over all axes but the last, except for rounding.
  void set_rows_sum_to_zero(int input);
  /// Whether that holds for the gradient of output i: the only op that reads it has stated so.
  bool rows_sum_to_zero(int output) const;

  /// Whether input i's gradient may be given as rows: its source's caller takes them, and nothing else is there yet.
  bool takes_rows(int input) const;
  /// The rows contributed to input i so far; undefined tensors when there are none.
  const IndexedSlices& rows(int input) const;
  /// Sets all rows of input i, which are then its only contributions; or none, once they are part of what `set` gets.
  void set_rows(int input, const IndexedSlices& rows);

 private:
  friend class GradientTape;
  BackwardContext(GradientTape& tape, const GradientTape::Entry& entry) : tape_(tape), entry_(entry) {}
  GradientTape::Node& input_node(int input) const;

  GradientTape& tape_;
  const GradientTape::Entry& entry_;
};

/// Whether some tape of this thread tracks one of the inputs, so that an op must `record`.
bool recording(std::span<const Tensor> inputs);
/// The same of a list.
inline bool recording(std::initializer_list<Tensor> inputs) {
  return recording(std::span(inputs.begin(), inputs.size()));
}
/// Puts an op on every tape that tracks one of its inputs. `op` is a string literal, named in errors.
void record(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs, BackwardFn backward,
            Reads reads = Reads::whole);
/// The same for an op of one result.
inline void record(const char* op, std::initializer_list<Tensor> inputs, const Tensor& output, BackwardFn backward,
                   Reads reads = Reads::whole) {
  record(op, std::span(inputs.begin(), inputs.size()), std::span(&output, 1), std::move(backward), reads);
}
/// Registers how an op's output, recorded just before, is recomputed: ops that read it may keep this instead of it,
/// until the op's own gradient is computed.
void record_recompute(const Tensor& output, const RecomputeFn& recompute);
/// How `tensor` is recomputed; empty where its op has not registered it.
RecomputeFn recompute_of(const Tensor& tensor);
/// The shared recomputation that readers of `tensor` keep instead of it; null where its op has not registered one.
std::shared_ptr<Recomputed> recomputed(const Tensor& tensor);

/// No tape of this thread records while one of these lives.
class NoGradientScope {
 public:
  NoGradientScope();
  ~NoGradientScope();
  NoGradientScope(const NoGradientScope&) = delete;
  NoGradientScope& operator=(const NoGradientScope&) = delete;
};

}  // namespace lockstep
