#include "lockstep/runtime/autograd/tape.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <string_view>
#include <tuple>

#include <fmt/core.h>

#include <lockstep/runtime/autograd/recompute_grad.h>
#include <lockstep/runtime/autograd/repeated_values.h>
#include <lockstep/runtime/tensor/parameter.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/runtime/trace/trace.h>

namespace lockstep {
namespace {

using Tapes = std::vector<GradientTape*>;

/// Made with the thread's first tape, not by an initializer: one that ran out of memory would leave it null for good.
thread_local std::shared_ptr<Tapes> open_tapes;
thread_local int recording_paused = 0;

/// The target's gradient with respect to itself (ones), and whether backward may add to it in place. Each thread sends
/// the one of a scalar loss to its GPU once and then reuses it.
std::pair<Tensor, bool> seed_of(const Tensor& target) try {
  const ContextScope there(context_on(target.device()));
  if (target.device().kind == DeviceKind::cpu || target.rank() > 0 || target.dtype() != DType::f32)
    return {Tensor::full(target.shape(), 1.0, target.dtype()), true};
  thread_local std::map<int, Tensor> ones;  // by index of the GPU
  Tensor& one = ones[target.device().index];
  if (!one.defined()) one = Tensor::full({}, 1.0);
  return {one, false};
} catch (Error& error) {
  rethrow_from("gradient of the target", error);
}

}  // namespace

/// Makes a tape record again, while it computes gradients, and with it only the tapes that record this computation.
class GradientTape::RecordingAgain {
 public:
  RecordingAgain(GradientTape& tape, Block& block) : tape_(tape), outer_(std::exchange(innermost, this)) {
    if (!tape.is_recorded_) set_aside_.swap(*open_tapes);
    open_tapes->push_back(&tape);
    tape.second_run_ = &block;
    paused_ = std::exchange(recording_paused, 0);
  }
  ~RecordingAgain() {
    recording_paused = paused_;
    tape_.second_run_ = nullptr;
    std::erase(*open_tapes, &tape_);
    open_tapes->insert(open_tapes->begin(), set_aside_.begin(), set_aside_.end());
    innermost = outer_;
  }
  RecordingAgain(const RecordingAgain&) = delete;
  RecordingAgain& operator=(const RecordingAgain&) = delete;

 private:
  friend class GradientTape;
  static thread_local RecordingAgain* innermost;

  GradientTape& tape_;
  RecordingAgain* outer_;
  Tapes set_aside_{};
  int paused_;
};

thread_local GradientTape::RecordingAgain* GradientTape::RecordingAgain::innermost = nullptr;

NoGradientScope::NoGradientScope() { ++recording_paused; }
NoGradientScope::~NoGradientScope() { --recording_paused; }

GradientTape::GradientTape() {
  if (!open_tapes) open_tapes = std::make_shared<Tapes>();
  open_tapes->push_back(this);
  open_tapes_ = open_tapes;
}

GradientTape::~GradientTape() { stop(); }

void GradientTape::stop() {
  std::erase(*open_tapes_, this);
  for (RecordingAgain* again = RecordingAgain::innermost; again; again = again->outer_)
    std::erase(again->set_aside_, this);
}

void GradientTape::require_its_thread() const {
  require<LogicError>(open_tapes_ == open_tapes,
                      "a tape is used on another thread than the one that made it: make one in each thread");
  require<LogicError>(!block_, "a function of recompute_grad uses a tape that records it: use the tape outside of it");
}

void GradientTape::watch(const Tensor& tensor) {
  require_its_thread();
  require(tensor.defined(), "watch() was given an undefined tensor");
  node_of(tensor);
}

bool GradientTape::tracks(const Tensor& tensor) const {
  if (tensor.is_parameter()) return true;
  const auto found = tensor.defined() ? node_by_id_.find(tensor.id()) : node_by_id_.end();
  return found != node_by_id_.end() && (!second_run_ || found->second < second_run_->tracked);
}

int GradientTape::node_of(const Tensor& tensor) {
  const auto [found, added] = node_by_id_.try_emplace(tensor.id(), static_cast<int>(nodes_.size()));
  if (added) nodes_.emplace_back().parameter = tensor.parameter();
  return found->second;
}

int GradientTape::node_of_output(const char* op, const Tensor& output) {
  if (!second_run_) return node_of(output);
  const Block& block = *second_run_;
  const std::size_t number = second_run_->run_again++;
  require<LogicError>(number < block.ops.size() && std::string_view(block.ops[number]) == op,
                      "a function of recompute_grad ran {} in its first call and {} when it was called again: it must "
                      "run the same ops each time",
                      number < block.ops.size() ? block.ops[number] : "no further op", op);
  return node_by_id_[output.id()] = block.outputs[number];
}

void GradientTape::add_entry(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                             const BackwardFn& backward, Reads reads) {
  const int number = static_cast<int>(entries_.size());
  const ExecutionContext there = context_on(outputs.front().device());
  Entry entry{op, {}, {}, backward, there.device, there.placed, reads};
  entry.time = Parameter::now();
  for (const Tensor& input : inputs) {
    const int node = tracks(input) ? node_of(input) : -1;
    entry.inputs.push_back(node);
    if (node < 0) {
      if (input.parameter()) (block_ ? block_->untracked : entry.untracked).push_back(input.parameter());
      continue;
    }
    if (nodes_[node].first_use < 0) {
      nodes_[node].first_use = number;
      if (block_) block_->first_reads.push_back(node);
    }
    nodes_[node].read_as_whole |= reads == Reads::whole;
    if (!second_run_) ++nodes_[node].uses;
    if (block_) block_->inputs.push_back(node);
  }
  for (const Tensor& output : outputs) {
    entry.outputs.push_back(node_of_output(op, output));
    nodes_[entry.outputs.back()].computed = true;
    if (!block_) continue;
    block_->ops.push_back(op);
    block_->outputs.push_back(entry.outputs.back());
  }
  if (!block_) entries_.push_back(std::move(entry));
}

void GradientTape::end_block(const std::function<void()>& again) {
  const std::shared_ptr<Block> block = std::exchange(block_, nullptr);
  if (block->outputs.empty()) return;
  block->again = again;
  block->tracked = second_run_ ? second_run_->tracked : static_cast<int>(nodes_.size());
  const ExecutionContext& here = current_context();
  entries_.push_back({.op = "recompute_grad",
                      .inputs = block->inputs,
                      .outputs = block->outputs,
                      .backward = nullptr,
                      .device = here.device,
                      .placed = here.placed,
                      .untracked = std::move(block->untracked),
                      .block = block,
                      .time = block->time});
}

void GradientTape::drop_block() {
  const std::shared_ptr<Block> block = std::exchange(block_, nullptr);
  if (!block) return;
  for (const int node : block->inputs) --nodes_[node].uses;
  for (const int node : block->first_reads) {
    nodes_[node].first_use = -1;
    nodes_[node].read_as_whole = false;
  }
}

void GradientTape::expand_block() {
  const Entry entry = std::move(entries_.back());
  entries_.pop_back();
  const std::size_t number = entries_.size();
  for (const int node : entry.block->first_reads) nodes_[node].first_use = -1;
  {
    const ContextScope there(context_on(entry.device));
    std::optional<DeviceScope> placed;
    if (entry.placed) placed.emplace(entry.device);
    const TraceSpan span("recompute");
    const RecordingAgain recording(*this, *entry.block);
    entry.block->again();
    require<LogicError>(entry.block->run_again == entry.outputs.size(),
                        "a function of recompute_grad did not run {} when it was called again, as in its first call: "
                        "it must run the same ops each time",
                        entry.block->ops[std::min(entry.block->run_again, entry.outputs.size() - 1)]);
  }
  final_after_.resize(std::max(final_after_.size(), entries_.size()));
  for (const int node : std::exchange(final_after_[number], {}))
    final_after_[std::max(static_cast<int>(number), nodes_[node].first_use)].push_back(node);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, std::span<const Tensor> sources,
                                           const Tensor& output_gradient) {
  std::vector<Slot> slots;
  for (const Tensor& source : sources) slots.push_back({.source = source});
  std::vector<Tensor> gradients(sources.size());
  const auto keep = [&](int slot, const DenseOrSparse& gradient) {
    gradients[static_cast<std::size_t>(slot)] = std::get<Tensor>(gradient);
  };
  run(target, slots, keep, output_gradient);
  return gradients;
}

std::vector<DenseOrSparse> GradientTape::gradient_or_slices(const Tensor& target, std::span<const Tensor> sources) {
  std::vector<Slot> slots;
  for (const Tensor& source : sources) slots.push_back({.source = source, .may_be_rows = true});
  std::vector<DenseOrSparse> gradients(sources.size());
  run(target, slots,
      [&](int slot, const DenseOrSparse& gradient) { gradients[static_cast<std::size_t>(slot)] = gradient; });
  return gradients;
}

bool GradientTape::only_rows_read(const Tensor& source) const {
  const auto found = node_by_id_.find(source.id());
  if (found == node_by_id_.end()) return false;
  const Node& node = nodes_[found->second];
  return node.first_use >= 0 && !node.read_as_whole;
}

void GradientTape::backward(const Tensor& target, std::span<const Slot> slots, const FinalHook& final) {
  const NoGradientScope no_recording;
  run(target, slots, final);
}

void GradientTape::run(const Tensor& target, std::span<const Slot> slots, const FinalHook& final,
                       const Tensor& output_gradient) {
  require<LogicError>(!used_, "this tape has been used: a tape computes gradients once; make another tape");
  require_its_thread();
  require<LogicError>(
      tracks(target),
      "the target depends on no variable that trains, nor on another tensor that this tape watched while "
      "it was open");
  require(!output_gradient.defined() ||
              (output_gradient.shape() == target.shape() && output_gradient.dtype() == target.dtype()),
          "the output_gradient of a target {} must have its shape and dtype, got {}", target, output_gradient);
  require_no_change(target, slots);
  used_ = true;
  stop();
  is_recorded_ = recording({target}) || (output_gradient.defined() && recording({output_gradient}));
  std::optional<NoGradientScope> no_recording;  // by tapes that track other tensors, e.g. parameters
  if (!is_recorded_) no_recording.emplace();

  final_after_.resize(entries_.size() + 1);  // the last list: sources that no entry reads
  for (int slot = 0; slot < static_cast<int>(slots.size()); ++slot) {
    const int number = node_of(slots[slot].source);
    Node& node = nodes_[number];
    require(node.slot < 0, "source {} is given twice", slot);
    node.slot = slot;
    node.keep = true;
    node.destination = slots[slot].destination;
    node.may_be_rows = slots[slot].may_be_rows && !node.computed;
    final_after_[node.first_use < 0 ? entries_.size() : static_cast<std::size_t>(node.first_use)].push_back(number);
  }
  const auto report = [&](std::size_t entry) {
    for (const int number : std::exchange(final_after_[entry], {})) {
      const Node& node = nodes_[number];
      final(node.slot, node.rows.values.defined() ? DenseOrSparse(node.rows) : DenseOrSparse(node.gradient));
    }
  };

  Node& seed = nodes_[node_of(target)];
  std::tie(seed.gradient, seed.owned) = output_gradient.defined() ? std::pair(output_gradient, false) : seed_of(target);
  if (seed.destination.defined()) {
    copy(seed.gradient, seed.destination);
    seed.gradient = seed.destination;
  }
  report(entries_.size());
  while (!entries_.empty()) {
    while (entries_.back().block && reaches(entries_.back())) expand_block();
    run_entry(entries_.back());
    entries_.pop_back();  // frees the tensors that the op kept for its gradient
    report(entries_.size());
  }
}

const Parameter* GradientTape::changed(const Entry& entry) const {
  if (entry.reads == Reads::rows) return nullptr;  // gradients of looked up rows do not depend on their values
  for (const int node : entry.inputs)
    if (node >= 0 && nodes_[node].parameter && nodes_[node].parameter->changed_since(entry.time))
      return nodes_[node].parameter.get();
  for (const auto& parameter : entry.untracked)
    if (parameter->changed_since(entry.time)) return parameter.get();
  return nullptr;
}

void GradientTape::require_no_change(const Tensor& target, std::span<const Slot> slots) const {
  if (std::ranges::none_of(entries_, [&](const Entry& entry) { return changed(entry); })) return;
  using Marks = std::vector<bool>;  // by node
  const auto mark = [&](const Tensor& tensor, Marks& marks) {
    if (const auto found = node_by_id_.find(tensor.id()); found != node_by_id_.end()) marks[found->second] = true;
  };
  const auto any = [](const std::vector<int>& nodes, const Marks& marks) {
    return std::ranges::any_of(nodes, [&](int node) { return node >= 0 && marks[node]; });
  };
  Marks depends_on_source(nodes_.size());
  for (const Slot& slot : slots) mark(slot.source, depends_on_source);
  for (const Entry& entry : entries_)
    if (any(entry.inputs, depends_on_source))
      for (const int node : entry.outputs) depends_on_source[node] = true;
  Marks leads_to_target(nodes_.size());
  mark(target, leads_to_target);
  for (const Entry& entry : std::views::reverse(entries_)) {
    if (!any(entry.outputs, leads_to_target)) continue;
    for (const int node : entry.inputs)
      if (node >= 0) leads_to_target[node] = true;
    // Ops that read the output may compute it again instead of keeping it.
    const bool recomputes =
        std::ranges::any_of(entry.outputs, [&](int node) { return nodes_[node].recompute != nullptr; });
    const bool is_read = recomputes || any(entry.inputs, depends_on_source);
    const Parameter* const parameter = is_read ? changed(entry) : nullptr;
    require<LogicError>(!parameter,
                        "the tape recorded {} on variable '{}', whose value has changed since then: compute the "
                        "gradients of all tapes (gradient) before the first update (apply_gradients)",
                        entry.op, parameter ? parameter->name() : "");
  }
}

bool GradientTape::reaches(const Entry& entry) const {
  return std::any_of(entry.outputs.begin(), entry.outputs.end(),
                     [&](int node) { return nodes_[node].gradient.defined(); });
}

void GradientTape::run_entry(Entry& entry) {
  const bool reached = reaches(entry);
  for (const int node : entry.outputs) nodes_[node].recompute = nullptr;  // the op may now overwrite its tensors
  if (reached) {
    BackwardContext context(*this, entry);
    const ContextScope there(context_on(entry.device));
    std::optional<DeviceScope> placed;
    if (entry.placed) placed.emplace(entry.device);
    const TraceSpan span("gradient of ", entry.op);
    try {
      entry.backward(context);
    } catch (Error& error) {
      error.add_context(fmt::format("gradient of {}", entry.op));
      throw;
    }
  }
  for (const int node : entry.outputs)
    if (!nodes_[node].keep) nodes_[node].gradient = Tensor();
}

void GradientTape::record_undifferentiable(const char* op, const char* remedy, const Tensor& gradient) {
  const auto refuse = [remedy](BackwardContext&) {
    fail<Unsupported>("this gradient is not differentiable itself; {}", remedy);
  };
  for (GradientTape* tape : *open_tapes) tape->add_entry(op, {}, std::span(&gradient, 1), refuse, Reads::whole);
}

const Tensor& BackwardContext::gradient(int output) const { return tape_.nodes_[entry_.outputs.at(output)].gradient; }

bool BackwardContext::needs(int input) const { return entry_.inputs.at(input) >= 0; }

GradientTape::Node& BackwardContext::input_node(int input) const {
  require<BrokenInvariant>(needs(input), "the gradient of input {} of {} is not wanted", input, entry_.op);
  return tape_.nodes_[entry_.inputs[input]];
}

const Tensor& BackwardContext::contributed(int input) const { return input_node(input).gradient; }

bool BackwardContext::owns_contributed(int input) const { return input_node(input).owned; }

const Tensor& BackwardContext::destination(int input) const {
  static const Tensor none;
  const GradientTape::Node& node = input_node(input);
  return node.gradient.defined() ? none : node.destination;
}

void BackwardContext::set(int input, const Tensor& gradient, bool owned) {
  GradientTape::Node& node = input_node(input);
  node.gradient = gradient;
  node.owned = owned;
  if (remedy_) GradientTape::record_undifferentiable(op(), remedy_, gradient);
}

void BackwardContext::stop_recording(const char* remedy) {
  if (!is_recorded()) return;
  remedy_ = remedy;
  not_recorded_.emplace();
}

void BackwardContext::set_rows_sum_to_zero(int input) { input_node(input).rows_sum_to_zero = true; }

bool BackwardContext::rows_sum_to_zero(int output) const {
  const GradientTape::Node& node = tape_.nodes_[entry_.outputs.at(output)];
  return node.rows_sum_to_zero && node.uses == 1;
}

bool BackwardContext::takes_rows(int input) const {
  const GradientTape::Node& node = input_node(input);
  return node.may_be_rows && !node.gradient.defined() && !tape_.is_recorded_;
}

const IndexedSlices& BackwardContext::rows(int input) const { return input_node(input).rows; }

void BackwardContext::set_rows(int input, const IndexedSlices& rows) { input_node(input).rows = rows; }

bool recording(std::span<const Tensor> inputs) {
  if (recording_paused > 0 || !open_tapes) return false;
  for (const GradientTape* tape : *open_tapes)
    for (const Tensor& input : inputs)
      if (tape->tracks(input)) return true;
  return false;
}

bool several_tapes_record() { return recording_paused == 0 && open_tapes && open_tapes->size() > 1; }

void record(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs, BackwardFn backward,
            Reads reads) {
  if (!open_tapes) return;
  for (GradientTape* tape : *open_tapes) {
    const bool tracked =
        std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) { return tape->tracks(input); });
    if (tracked) tape->add_entry(op, inputs, outputs, backward, reads);
  }
}

void record_recompute(const Tensor& output, const RecomputeFn& recompute) {
  if (!open_tapes) return;
  for (GradientTape* tape : *open_tapes)
    if (!tape->block_ && tape->tracks(output)) tape->nodes_[tape->node_of(output)].recompute = recompute;
}

bool records_recomputed() {
  return open_tapes && recording_paused == 0 &&
         std::ranges::any_of(*open_tapes, [](const GradientTape* tape) { return !tape->block_; });
}

void record_recomputed(const std::function<void()>& first, const std::function<void()>& again) {
  if (!records_recomputed()) return first();
  Tapes tapes;
  std::ranges::copy_if(*open_tapes, std::back_inserter(tapes), [](GradientTape* tape) { return !tape->block_; });
  const auto values = std::make_shared<RepeatedValues>();
  try {
    for (GradientTape* tape : tapes) {
      tape->block_ = std::make_shared<GradientTape::Block>();
      tape->block_->time = Parameter::now();
    }
    const RepeatedValuesScope scope(*values, false);
    first();
  } catch (...) {
    for (GradientTape* tape : tapes) tape->drop_block();
    throw;
  }
  for (GradientTape* tape : tapes)
    tape->end_block([values, again] {
      const RepeatedValuesScope scope(*values, true);
      again();
    });
}

GradientTape::Node* GradientTape::recomputable(const Tensor& tensor) {
  if (!open_tapes || !tensor.defined()) return nullptr;
  for (GradientTape* tape : *open_tapes)
    if (const auto found = tape->node_by_id_.find(tensor.id()); found != tape->node_by_id_.end())
      if (Node& node = tape->nodes_[found->second]; node.recompute) return &node;
  return nullptr;
}

RecomputeFn recompute_of(const Tensor& tensor) {
  const GradientTape::Node* const node = GradientTape::recomputable(tensor);
  return node ? node->recompute : nullptr;
}

std::shared_ptr<Recomputed> recomputed(const Tensor& tensor) {
  GradientTape::Node* const node = GradientTape::recomputable(tensor);
  if (!node) return nullptr;
  std::shared_ptr<Recomputed> shared = node->recomputed.lock();
  if (!shared) node->recomputed = shared = std::make_shared<Recomputed>(tensor, node->recompute);
  return shared;
}

}  // namespace lockstep
