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

/// x itself if cuDNN can read it, else a copy.
Tensor for_cudnn(const Tensor& x) {
  if (cudnn::takes_strides(x)) return x;
  const Tensor copy = Tensor::empty(x.shape(), x.dtype());
  kernels::on_gpu(kernels::Convert{x, copy});
  return copy;
}

/// Address of a tensor; null for an undefined one.
void* address(const Tensor& x) { return x.defined() ? x.raw_data() : nullptr; }

/// Inputs of the forward and the backward pass.
struct Inputs {
  template <class Kernel>
  explicit Inputs(const Kernel& kernel)
      : query(for_cudnn(kernel.query)), key(for_cudnn(kernel.key)), value(for_cudnn(kernel.value)) {
    if (!kernel.rule.mask.defined()) return;
    mask = cudnn::narrow_mask(kernel.rule.mask);
    bias = cudnn::empty_bias(mask);
    first_seen = Tensor::empty({mask.dim(0), mask.dim(1), mask.dim(2)}, DType::i64);
  }

  void fill_bias() const {
    if (mask.defined()) kernels::on_gpu(kernels::MaskBias{mask, bias, first_seen});
  }

  Tensor query, key, value;
  Tensor mask, bias, first_seen;  ///< see kernels::MaskBias; undefined without a mask
};

/// Examples [first, end) of x. A broadcast bias is that of all examples.
Tensor examples(const Tensor& x, std::int64_t first, std::int64_t end) {
  return x.defined() && x.dim(0) > 1 ? x.slice_view(0, first, end) : x;
}

/// The gradient of some examples.
struct GradientPart {
  GradientPart(const kernels::AttentionGradient& kernel, const Inputs& in, const Tensor& dy, std::int64_t first,
               std::int64_t end)
      : query(examples(in.query, first, end)),
        key(examples(in.key, first, end)),
        value(examples(in.value, first, end)),
        bias(examples(in.bias, first, end)),
        y(examples(kernel.y, first, end)),
        dy(examples(dy, first, end)),
        dquery(examples(kernel.dquery, first, end)),
        dkey(examples(kernel.dkey, first, end)),
        dvalue(examples(kernel.dvalue, first, end)),
        maximum(examples(kernel.maximum, first, end)),
        sum(examples(kernel.sum, first, end)),
        attention(kernel.rule, query, key, value, bias, dy) {}

  void compute(const AttentionPlan& plan, const Gpu& gpu) const {
    const Tensor log_sum_exp = Tensor::empty(maximum.shape());
    kernels::on_gpu(kernels::LogSumExp{maximum, sum, log_sum_exp});
    run(plan, gpu,
        {.query = query.raw_data(),
         .key = key.raw_data(),
         .value = value.raw_data(),
         .bias = address(bias),
         .y = y.raw_data(),
         .log_sum_exp = log_sum_exp.raw_data(),
         .dy = dy.raw_data(),
         .dquery = dquery.raw_data(),
         .dkey = dkey.raw_data(),
         .dvalue = dvalue.raw_data()});
  }

  Tensor query, key, value, bias, y, dy, dquery, dkey, dvalue, maximum, sum;
  FusedAttention attention;
};

/// Whether cuDNN has computed the gradient. It computes as many examples at once as its workspace allows, at least one.
bool compute_gradient(const kernels::AttentionGradient& kernel) {
  const Gpu& gpu = current_gpu();
  const Inputs in(kernel);
  const Tensor dy = for_cudnn(kernel.dy);
  const std::int64_t all = kernel.query.dim(0);
  std::int64_t step = all;
  for (;; step = (step + 1) / 2) {
    const AttentionPlan* const plan = plan_of(GradientPart(kernel, in, dy, 0, step).attention, gpu);
    if (plan == nullptr) return false;
    if (step == 1 || plan->workspace_bytes() <= cudnn::workspace_limit) break;
  }
  in.fill_bias();
  for (std::int64_t first = 0; first < all; first += step) {
    const GradientPart part(kernel, in, dy, first, std::min(all, first + step));
    const AttentionPlan* const plan = plan_of(part.attention, gpu);
    if (plan == nullptr) return false;
    part.compute(*plan, gpu);
  }
  if (in.mask.defined()) kernels::on_gpu(kernels::EqualWeightsGradient{dy, kernel.maximum, kernel.dvalue});
  return true;
}

}  // namespace

void kernels::Attention::on_gpu() const {
  if (y.elements() == 0) return;
  if (!cudnn::takes_attention(query, value, rule)) return kernels::on_gpu(AttentionByRows{*this});
  const Gpu& gpu = current_gpu();
  const Inputs in(*this);
  const AttentionPlan* const plan = plan_of(FusedAttention(rule, in.query, in.key, in.value, in.bias), gpu);
  if (plan == nullptr) return kernels::on_gpu(AttentionByRows{*this});
  in.fill_bias();
  run(*plan, gpu,
      {.query = in.query.raw_data(),
       .key = in.key.raw_data(),
       .value = in.value.raw_data(),
       .bias = address(in.bias),
       .y = y.raw_data(),
       .log_sum_exp = maximum.raw_data()});
  if (in.mask.defined())
    kernels::on_gpu(
        EqualWeights{in.value, in.first_seen.broadcast_view(maximum.shape()), rule.is_causal, y, maximum, sum});
  else
    kernels::on_gpu(Fill{sum, 1});
}

void kernels::AttentionGradient::on_gpu() const {
  if (y.elements() == 0 || !cudnn::takes_attention(query, value, rule) || !compute_gradient(*this))
    kernels::on_gpu(AttentionGradientByRows{*this});
}

}  // namespace lockstep
