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

#include <lockstep/runtime/autograd/recomputed.h>
#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

class BackwardContext;
/// Computes the gradients of an op's inputs from the gradients of its outputs. Called with the first output's device as
/// the current device.
using BackwardFn = std::function<void(BackwardContext&)>;
/// What an op reads of its inputs: all elements (whole), or only the rows that it looks up (rows). The gradient of an
/// input can be IndexedSlices only if every op that reads it looks up rows.
enum class Reads { whole, rows };

/// Pauses the recording of all tapes of the calling thread during its lifetime.
class NoGradientScope {
 public:
  NoGradientScope();
  ~NoGradientScope();
  NoGradientScope(const NoGradientScope&) = delete;
  NoGradientScope& operator=(const NoGradientScope&) = delete;
};

/// Records the ops that its thread runs on watched tensors. Can compute gradients once, by `gradient`,
/// `gradient_or_slices` or `backward`. Ops register their gradients with `record`. Trainable parameters are watched
/// automatically. Use it only on the thread that created it; another thread may destroy it while the creating thread
/// uses no tape. Tapes of a thread nest and record independently. While one tape computes gradients, the other tapes
/// that still record and track the target also record this computation; they can then compute second-order gradients.
/// This takes more time and memory; NoGradientScope prevents it. All ops support second-order gradients, except that
/// recurrent ops (lstm.h, gru.h) and dot_product_attention without a bias throw Unsupported.
class GradientTape {
 public:
  GradientTape();
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// Starts recording the ops on `tensor`, so that gradients with respect to it can be computed. Throws InvalidArgument
  /// for an undefined tensor. Throws LogicError on another thread, and inside a function passed to recompute_grad that
  /// this tape records.
  void watch(const Tensor& tensor);
  /// d(sum(target))/d(source) for each source; an undefined tensor if the target does not depend on the source. With
  /// `output_gradient`, of the target's shape and dtype, d(sum(output_gradient * target))/d(source). Throws LogicError
  /// in the same cases as `watch`, if the tape has already computed gradients, and if the tape does not track the
  /// target. Also throws LogicError if a trainable variable has been updated or assigned after an op between a source
  /// and the target read it, even if the gradients do not depend on the old value; ops that only looked up rows of the
  /// variable do not count. Throws InvalidArgument if a source is given twice or output_gradient has a wrong shape or
  /// dtype. Throws Unsupported if an op without a second-order gradient is differentiated twice.
  std::vector<Tensor> gradient(const Tensor& target, std::span<const Tensor> sources,
                               const Tensor& output_gradient = {});
  /// Like `gradient`, but the gradient of a source is IndexedSlices if all ops that read the source only looked up
  /// rows, no recorded op computed the source, and no other tape records this computation.
  std::vector<DenseOrSparse> gradient_or_slices(const Tensor& target, std::span<const Tensor> sources);
  /// Whether at least one op has read `source` so far and all ops that have read it only looked up rows.
  bool only_rows_read(const Tensor& source) const;

  /// A source and the form of its gradient.
  struct Slot {
    Tensor source;             ///< the tensor to differentiate with respect to
    Tensor destination{};      ///< where to write the gradient; undefined: new memory
    bool may_be_rows = false;  ///< the gradient may be IndexedSlices, unless a recorded op computed the source
  };
  /// Called once for every slot, with its index and gradient, as soon as the gradient is final. An undefined gradient
  /// counts as 0 and leaves the slot's destination unchanged.
  using FinalHook = std::function<void(int slot, const DenseOrSparse& gradient)>;
  /// Like `gradient`, but passes the gradients to `final` and writes them, except IndexedSlices, to the slots'
  /// destinations. No tape records the computation. Throws the same errors as `gradient`.
  void backward(const Tensor& target, std::span<const Slot> slots, const FinalHook& final);

 private:
  friend class BackwardContext;
  friend bool recording(std::span<const Tensor> inputs);
  friend void record(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     BackwardFn backward, Reads reads);
  friend void record_recompute(const Tensor& output, const RecomputeFn& recompute);
  friend RecomputeFn recompute_of(const Tensor& tensor);
  friend std::shared_ptr<Recomputed> recomputed(const Tensor& tensor);
  friend bool records_recomputed();
  friend void record_recomputed(const std::function<void()>& first, const std::function<void()>& again);

  using Parameters = std::vector<std::shared_ptr<const Parameter>>;
  struct Node {                     // a tensor that the tape tracks
    Tensor gradient;                // sum of the dense contributions so far
    bool owned = false;             // the tape may add to `gradient` in place
    IndexedSlices rows;             // contributions so far as rows; then `gradient` is undefined
    bool may_be_rows = false;       // a source whose gradient the caller accepts as rows
    Tensor destination;             // the caller's memory for a source's gradient, if any
    int first_use = -1;             // entry of the first op that read it, which backward visits last; -1: none
    int uses = 0;                   // number of ops that read it
    bool rows_sum_to_zero = false;  // an op has called set_rows_sum_to_zero for it
    bool read_as_whole = false;     // an op has read it as a whole
    bool computed = false;          // a recorded op's output; that op needs a dense gradient
    int slot = -1;                  // its index among the sources
    bool keep = false;              // a source: its gradient is kept for the caller
    std::shared_ptr<const Parameter> parameter;  // Tensor::parameter()
    RecomputeFn recompute;                       // registered by its op; cleared when the backward pass reaches that op
    std::weak_ptr<Recomputed> recomputed;        // owned by the ops that read the tensor
  };
  struct Block {  // ops of one call of record_recomputed, which are run again before they are differentiated
    std::function<void()> again;
    std::vector<const char*> ops;  // for each output, the name of its op
    std::vector<int> inputs;       // nodes that the ops have read
    Parameters untracked;          // parameters of inputs that are not tracked
    std::vector<int> outputs;      // nodes of the ops' outputs, in the order of recording
    std::vector<int> first_reads;  // nodes that no earlier op had read
    int tracked = 0;               // number of nodes after the first run; the second run tracks no others
    std::size_t run_again = 0;     // number of outputs recorded in the second run
    std::uint64_t time = 0;        // Parameter::now when the first run began
  };
  struct Entry {
    const char* op;
    std::vector<int> inputs;  // indices of nodes; -1 for an input that is not tracked
    std::vector<int> outputs;
    BackwardFn backward;
    LogicalDevice device;            // device of the first output
    bool placed;                     // the op ran in a DeviceScope
    Reads reads = Reads::whole;      // how the op reads its inputs
    Parameters untracked{};          // parameters of inputs that are not tracked
    std::shared_ptr<Block> block{};  // null for an op
    std::uint64_t time = 0;          // Parameter::now when the op read its inputs
  };
  class RecordingAgain;

  /// The node of `tensor` on the thread's first open tape that can recompute it; null if there is none.
  static Node* recomputable(const Tensor& tensor);
  bool tracks(const Tensor& tensor) const;
  int node_of(const Tensor& tensor);
  int node_of_output(const char* op, const Tensor& output);
  void add_entry(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                 const BackwardFn& backward, Reads reads);
  void stop();
  void require_its_thread() const;
  /// A parameter that `entry` read as a whole and that has changed since then; null if there is none.
  const Parameter* changed(const Entry& entry) const;
  /// Throws LogicError if the gradients may need the old value of a parameter that has changed.
  void require_no_change(const Tensor& target, std::span<const Slot> slots) const;
  void run(const Tensor& target, std::span<const Slot> slots, const FinalHook& final,
           const Tensor& output_gradient = {});
  bool reaches(const Entry& entry) const;
  void run_entry(Entry& entry);
  void end_block(const std::function<void()>& again);
  void drop_block();    // after its first run has failed
  void expand_block();  // replaces the last entry, a block, by the entries of its ops
  /// Records on every open tape that `gradient`, the gradient of an input of `op`, cannot be differentiated.
  static void record_undifferentiable(const char* op, const char* remedy, const Tensor& gradient);

  std::shared_ptr<std::vector<GradientTape*>> open_tapes_;  // the creating thread's tapes that still record
  std::unordered_map<std::uint64_t, int> node_by_id_;
  std::vector<Node> nodes_;
  std::vector<Entry> entries_;
  bool used_ = false;
  bool is_recorded_ = false;                   // another tape records the gradient that is being computed
  std::vector<std::vector<int>> final_after_;  // for each entry: the sources whose gradients are final after it
  std::shared_ptr<Block> block_;               // the block that is being recorded; null if there is none
  Block* second_run_ = nullptr;                // the block that is being recorded again; null if there is none
};

/// An op's access to the running backward pass. Indices of inputs and outputs are those given to `record`.
class BackwardContext {
 public:
  /// d(sum(target))/d(output i); undefined if the target does not depend on that output. May be strided.
  const Tensor& gradient(int output) const;
  /// Whether input i needs a gradient. All members below that take an input require this.
  bool needs(int input) const;
  /// The sum of the dense contributions to input i so far; undefined if there are none.
  const Tensor& contributed(int input) const;
  /// Whether `contributed` may be added to in place.
  bool owns_contributed(int input) const;
  /// The caller's destination for input i's gradient. Undefined if there is none or a gradient has been set.
  const Tensor& destination(int input) const;
  /// Replaces the dense contributions to input i by `gradient`, which must include them. `owned`: nothing else reads or
  /// writes its memory, so that other ops may add to it in place.
  void set(int input, const Tensor& gradient, bool owned);

  /// Declares that this op's contribution to input i sums to 0 over all axes but the last, up to rounding, so that a
  /// bias added just before this op gets a zero gradient.
  void set_rows_sum_to_zero(int input);
  /// Whether only one op has read output i and that op has called set_rows_sum_to_zero, so that the gradient of the
  /// output sums to 0 over all axes but the last.
  bool rows_sum_to_zero(int output) const;

  /// Whether another tape records this backward pass; false after stop_recording. If true, the contributed gradients
  /// must be computed by ops that tapes record.
  bool is_recorded() const { return tape_.is_recorded_ && !remedy_; }
  /// Declares that later contributions cannot be differentiated: no tape records their computation, and a tape that
  /// needs their gradient throws Unsupported. `remedy` is a string literal that says what to use instead; later calls
  /// do not change it. Has no effect if no tape records.
  void stop_recording(const char* remedy);
  /// The name that was given to `record`.
  const char* op() const { return entry_.op; }

  /// Whether the gradient of input i may be contributed as rows: the caller accepts IndexedSlices for this source,
  /// there is no dense contribution yet, and no tape records this backward pass.
  bool takes_rows(int input) const;
  /// The rows contributed to input i so far; their tensors are undefined if there are none.
  const IndexedSlices& rows(int input) const;
  /// Replaces the rows contributed to input i by `rows`, which must include them. Precondition: takes_rows(input). To
  /// turn rows into a dense contribution, add them to the tensor for `set` and pass `{}` here.
  void set_rows(int input, const IndexedSlices& rows);

 private:
  friend class GradientTape;
  BackwardContext(GradientTape& tape, const GradientTape::Entry& entry) : tape_(tape), entry_(entry) {}
  GradientTape::Node& input_node(int input) const;

  GradientTape& tape_;
  const GradientTape::Entry& entry_;
  const char* remedy_ = nullptr;  // argument of stop_recording
  std::optional<NoGradientScope> not_recorded_{};
};

/// Whether a tape of this thread records and tracks one of the inputs, so that an op must call `record`.
bool recording(std::span<const Tensor> inputs);
/// Same as above, for a braced list.
inline bool recording(std::initializer_list<Tensor> inputs) {
  return recording(std::span(inputs.begin(), inputs.size()));
}
/// Whether several tapes of this thread record. If so, an op must keep the tensors that its gradient reads, not other
/// tensors from which it would recompute them.
bool several_tapes_record();
/// Records an op on every tape of this thread that tracks one of its inputs. `op` is a string literal that names the op
/// in errors and traces. Precondition: recording(inputs); this function does not check for a NoGradientScope.
void record(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs, BackwardFn backward,
            Reads reads = Reads::whole);
/// Same as above, for an op with one output.
inline void record(const char* op, std::initializer_list<Tensor> inputs, const Tensor& output, BackwardFn backward,
                   Reads reads = Reads::whole) {
  record(op, std::span(inputs.begin(), inputs.size()), std::span(&output, 1), std::move(backward), reads);
}
/// Registers how to recompute `output`, whose op has just been recorded. Ops that read `output` may keep `recompute`
/// instead of the tensor, and may call it until the backward pass reaches the op that computed `output`.
void record_recompute(const Tensor& output, const RecomputeFn& recompute);
/// The function registered for `tensor` by record_recompute; empty if there is none.
RecomputeFn recompute_of(const Tensor& tensor);
/// The shared recomputation that ops may keep instead of `tensor`; null if none is registered.
std::shared_ptr<Recomputed> recomputed(const Tensor& tensor);

}  // namespace lockstep
