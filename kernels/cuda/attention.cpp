// Attention of bf16 on cuDNN. All else, and what cuDNN has no algorithm for, is left to the source that CPUs share.

#include <algorithm>
#include <mutex>
#include <optional>

#include <lockstep/kernels/attention/mask_kernels.h>
#include <lockstep/kernels/cuda/attention_plan.h>
#include <lockstep/kernels/cuda/cudnn_handle.h>
#include <lockstep/kernels/cuda/known_plans.h>
#include <lockstep/kernels/cuda/tuned_plan.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep {
namespace {

using cudnn::AttentionPlan;
using cudnn::FusedAttention;

/// cuDNN takes seconds to compile a plan's kernels; one thread makes each plan, others and later programs restore it.
AttentionPlan make_plan(const FusedAttention& attention, const Gpu& gpu) {
  static std::mutex turn;
  static cudnn::PlanCache cache(cudnn::cache_folder());
  const std::lock_guard lock(turn);
  const cudnnHandle_t handle = cudnn::handle_of(gpu);
  const std::string kind = cudnn::text_of(gpu);
  // The last tile of 128 keys is filled with scores of 0, whose exponentials overflow (PyTorch's issue 196678).
  const bool overflows =
      attention.dy && attention.key.sizes[2] % 128 == 64 && kind.find("capability 9.") != std::string::npos;
  require<Unsupported>(!overflows, "cuDNN's results may be NaN on {} for the {}", kind, attention.text());
  return cudnn::kept_plan<AttentionPlan>(cache, kind, attention, handle,
                                         [&] { return AttentionPlan(attention, handle); });
}

/// The calling thread's plan for a physical GPU; null if cuDNN has none.
const AttentionPlan* plan_of(const FusedAttention& attention, const Gpu& gpu) {
  thread_local KnownPlans<FusedAttention, std::optional<AttentionPlan>> plans(1024);
  const auto& plan = plans.get(gpu.ordinal(), attention, [&]() -> std::optional<AttentionPlan> {
    try {
      return make_plan(attention, gpu);
    } catch (const Unsupported& error) {
      log_warning("{}; a slower kernel of lockstep computes it", error.what());
      return {};
    }
  });
  return plan ? &*plan : nullptr;
}

void run(const AttentionPlan& plan, const Gpu& gpu, const AttentionPlan::Operands& operands) {
  const Tensor workspace = Tensor::empty({plan.workspace_bytes()}, DType::u8);
  plan.run(cudnn::handle_of(gpu), operands, workspace.raw_data());
}

/// A dense copy.
Tensor copied(const Tensor& x) {
  const Tensor copy = Tensor::empty(x.shape(), x.dtype());
  kernels::on_gpu(kernels::Convert{x, copy});
  return copy;
}

/// x itself if cuDNN can read it, else a copy.
Tensor for_cudnn(const Tensor& x) { return cudnn::takes_strides(x) ? x : copied(x); }

/// Address of a tensor; null for an undefined one.
void* address(const Tensor& x) { return x.defined() ? x.raw_data() : nullptr; }

/// Examples [first, end) of x. A broadcast bias is that of all examples.
Tensor examples(const Tensor& x, std::int64_t first, std::int64_t end) {
  return x.defined() && x.dim(0) > 1 ? x.slice_view(0, first, end) : x;
}

/// Inputs of the forward and the backward pass.
struct Inputs {
  template <class Kernel>
  explicit Inputs(const Kernel& kernel)
      : rule(kernel.rule), query(for_cudnn(kernel.query)), key(for_cudnn(kernel.key)), value(for_cudnn(kernel.value)) {
    if (!rule.mask.defined()) return;
    mask = cudnn::narrow_mask(rule.mask);
    bias = cudnn::empty_bias(mask);
    first_seen = Tensor::empty({mask.dim(0), mask.dim(1), mask.dim(2)}, DType::i64);
  }

  bool drops() const { return rule.dropout_rate > 0; }

  /// Enqueues the kernels that compute the bias and a seed for each part of `step` examples.
  void prepare(std::int64_t step) {
    if (mask.defined()) kernels::on_gpu(kernels::MaskBias{mask, bias, first_seen});
    if (!drops()) return;
    seeds = Tensor::empty({(query.dim(0) + step - 1) / step, 2, 2}, DType::i64);
    kernels::on_gpu(kernels::DropoutSeeds{rule.key, seeds});
  }

  kernels::AttentionRule rule;
  Tensor query, key, value;
  Tensor mask, bias, first_seen;  ///< see kernels::MaskBias; undefined without a mask
  Tensor seeds;                   ///< see kernels::DropoutSeeds; undefined without dropout and before prepare()
};

/// A pass for part `index` of `step` examples, or for fewer examples if it is the last part.
struct Part {
  Part(const Inputs& in, std::int64_t index, std::int64_t step, const Tensor& gradient = {})
      : first(index * step),
        end(std::min(in.query.dim(0), first + step)),
        query(examples(in.query, first, end)),
        key(examples(in.key, first, end)),
        value(examples(in.value, first, end)),
        bias(examples(in.bias, first, end)),
        dy(of(gradient)),
        attention(in.rule, query, key, value, bias, dy) {
    if (!in.seeds.defined()) return;
    seed = in.seeds.slice_view(0, index, index + 1);
    offset = seed.slice_view(1, 1, 2);
  }

  /// The part of a tensor of all examples.
  Tensor of(const Tensor& x) const { return examples(x, first, end); }
  /// The operands of the pass without its results; y and log_sum_exp are of this part.
  AttentionPlan::Operands operands(const Tensor& y, const Tensor& log_sum_exp) const {
    return {.query = query.raw_data(),
            .key = key.raw_data(),
            .value = value.raw_data(),
            .bias = address(bias),
            .seed = address(seed),
            .offset = address(offset),
            .y = y.raw_data(),
            .log_sum_exp = log_sum_exp.raw_data(),
            .dy = address(dy)};
  }

  std::int64_t first, end;
  Tensor query, key, value, bias, dy;
  FusedAttention attention;
  Tensor seed, offset;
};

/// Whether cuDNN has plans for all parts; with dy, for the gradient.
bool has_plans(const Inputs& in, std::int64_t step, const Tensor& dy, const Gpu& gpu) {
  for (std::int64_t index = 0; index * step < in.query.dim(0); ++index)
    if (plan_of(Part(in, index, step, dy).attention, gpu) == nullptr) return false;
  return true;
}

/// Calls compute(part, plan) for each part; with dy, of the gradient. Returns false as soon as cuDNN has no plan. With
/// dropout, throws Unsupported instead: cuDNN had one when the forward pass chose it to draw the random numbers.
template <class Compute>
bool compute_parts(Inputs& in, std::int64_t step, const Tensor& dy, const Gpu& gpu, const Compute& compute) {
  in.prepare(step);
  for (std::int64_t index = 0; index * step < in.query.dim(0); ++index) {
    const Part part(in, index, step, dy);
    const AttentionPlan* const plan = plan_of(part.attention, gpu);
    require<Unsupported>(plan != nullptr || !in.drops(),
                         "cuDNN draws the random numbers but has lost its plan of the {}", part.attention.text());
    if (plan == nullptr) return false;
    compute(part, *plan);
  }
  return true;
}

/// How many examples cuDNN's gradient computes at once: as many as its workspace allows, at least one; 0 if cuDNN has
/// no algorithm.
std::int64_t gradient_step(const Inputs& in, const Tensor& dy, const Gpu& gpu) {
  for (std::int64_t step = in.query.dim(0);; step = (step + 1) / 2) {
    const AttentionPlan* const plan = plan_of(Part(in, 0, step, dy).attention, gpu);
    if (plan == nullptr) return 0;
    if (step == 1 || plan->workspace_bytes() <= cudnn::workspace_limit) return step;
  }
}

/// How many examples cuDNN computes from one seed in both passes; 0 if it has no algorithm for one of the passes. Its
/// random numbers depend on an example's position among those, and differ from those of lockstep's kernels.
std::int64_t examples_per_seed(const Inputs& in, const Tensor& dense_dy, const Gpu& gpu) {
  const std::int64_t step = gradient_step(in, dense_dy, gpu);
  return step > 0 && has_plans(in, step, {}, gpu) && has_plans(in, step, dense_dy, gpu) ? step : 0;
}

/// Whether cuDNN has computed the results. It computes all examples at once, except with dropout.
bool compute_results(const kernels::Attention& kernel) {
  const Gpu& gpu = current_gpu();
  Inputs in(kernel);
  std::int64_t step = kernel.query.dim(0);
  if (in.drops()) {
    if (in.rule.examples_per_seed == nullptr) return false;
    step = examples_per_seed(in, kernel.y, gpu);  // y has the layout of a dense dy
    *in.rule.examples_per_seed = step;
  }
  const auto compute = [&](const Part& part, const AttentionPlan& plan) {
    run(plan, gpu, part.operands(part.of(kernel.y), part.of(kernel.maximum)));
  };
  if (step == 0 || !compute_parts(in, step, {}, gpu, compute)) return false;
  if (in.mask.defined())
    kernels::on_gpu(kernels::EqualWeights{in.value, in.first_seen.broadcast_view(kernel.maximum.shape()),
                                          in.rule.is_causal, kernel.y, kernel.maximum, kernel.sum});
  else
    kernels::on_gpu(kernels::Fill{kernel.sum, 1});
  return true;
}

/// Whether cuDNN has computed the gradient. With dropout, it does so if it has computed the results, in the same parts.
bool compute_gradient(const kernels::AttentionGradient& kernel) {
  const Gpu& gpu = current_gpu();
  const bool drops = kernel.rule.dropout_rate > 0;
  const auto& chosen = kernel.rule.examples_per_seed;
  if (drops && (chosen == nullptr || *chosen == 0)) return false;
  Inputs in(kernel);
  const Tensor dy = drops && !kernel.dy.is_dense() ? copied(kernel.dy) : for_cudnn(kernel.dy);
  const std::int64_t step = drops ? *chosen : gradient_step(in, dy, gpu);
  const auto compute = [&](const Part& part, const AttentionPlan& plan) {
    const Tensor maximum = part.of(kernel.maximum);
    const Tensor log_sum_exp = Tensor::empty(maximum.shape());
    kernels::on_gpu(kernels::LogSumExp{maximum, part.of(kernel.sum), log_sum_exp});
    AttentionPlan::Operands operands = part.operands(part.of(kernel.y), log_sum_exp);
    operands.dquery = part.of(kernel.dquery).raw_data();
    operands.dkey = part.of(kernel.dkey).raw_data();
    operands.dvalue = part.of(kernel.dvalue).raw_data();
    run(plan, gpu, operands);
  };
  if (step == 0 || !compute_parts(in, step, dy, gpu, compute)) return false;
  if (in.mask.defined()) kernels::on_gpu(kernels::EqualWeightsGradient{dy, kernel.maximum, kernel.dvalue});
  return true;
}

}  // namespace

void kernels::Attention::on_gpu() const {
  if (y.elements() == 0) return;
  if (!cudnn::takes_attention(query, value, rule) || !compute_results(*this)) kernels::on_gpu(AttentionByRows{*this});
}

void kernels::AttentionGradient::on_gpu() const {
  if (y.elements() == 0 || !cudnn::takes_attention(query, value, rule) || !compute_gradient(*this))
    kernels::on_gpu(AttentionGradientByRows{*this});
}

}  // namespace lockstep
