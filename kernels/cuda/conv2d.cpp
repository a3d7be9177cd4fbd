// Convolutions on cuDNN. Images stay in plain NHWC. Kernels are filters first (filters_first.h), the order that all of
// cuDNN's algorithms for NHWC take, and have the images' dtype. Channels are not padded to multiples of 8: algorithms
// on tensor cores take any number, and pad in their workspace (README.md of kernels/).

#include <cstdlib>
#include <mutex>
#include <string_view>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/convolution/filters_first.h>
#include <lockstep/kernels/convolution/pixel_products.h>
#include <lockstep/kernels/cuda/convolution_plan.h>
#include <lockstep/kernels/cuda/cudnn_handle.h>
#include <lockstep/kernels/cuda/known_plans.h>
#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/kernels/cuda/plan_timer.h>
#include <lockstep/kernels/cuda/tuned_plan.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/core/determinism.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/memory/allocator.h>

namespace lockstep {
namespace {

using cudnn::Convolution;
using cudnn::ConvolutionPass;
using cudnn::ConvolutionPlan;

/// Whether the fastest algorithm is taken instead of the one that cuDNN's heuristics put first. Off by default: unless
/// the plan cache holds the earlier choice, a new timing run may choose an algorithm that rounds differently.
bool autotunes() {
  if (is_op_determinism_enabled()) return false;
  const char* const setting = std::getenv("LOCKSTEP_CUDNN_AUTOTUNE");
  return setting != nullptr && std::string_view(setting) == "1";
}

ConvolutionPlan make_plan(const Convolution& convolution, const Gpu& gpu, cudnnHandle_t handle) {
  // With a ReLU, the fastest of the plans that cuDNN notes as strict about NaN gave 0 for NaN (cuDNN 9.19, H200).
  if (!autotunes() || convolution.relu) return {convolution, handle};
  // Serializes the replicas: concurrent timings on one GPU disturb each other, and all replicas must get one plan.
  static std::mutex turn;
  static cudnn::PlanCache cache(cudnn::cache_folder());
  const std::lock_guard lock(turn);
  try {
    bool timed = false;
    ConvolutionPlan plan = cudnn::tuned_plan(cache, cudnn::text_of(gpu), convolution, handle, [&] {
      timed = true;
      return cudnn::PlanTimer(convolution, gpu, handle);
    });
    if (timed) allocator(gpu.device()).release_cache();  // the workspaces of the timed algorithms
    return plan;
  } catch (const OutOfMemory& error) {
    log_warning("the algorithms of the {} are not timed: {}", convolution.text(), error.what());
    return {convolution, handle};
  }
}

/// The calling thread's plan for a physical GPU.
const ConvolutionPlan& plan_of(const Convolution& convolution, const Gpu& gpu, cudnnHandle_t handle) {
  thread_local KnownPlans<Convolution, ConvolutionPlan> plans(1024);
  return plans.get(gpu.ordinal(), convolution, [&] { return make_plan(convolution, gpu, handle); });
}

void run(const Convolution& convolution, const ConvolutionPlan::Operands& operands) {
  const Gpu& gpu = current_gpu();
  const cudnnHandle_t handle = cudnn::handle_of(gpu);
  const ConvolutionPlan& plan = plan_of(convolution, gpu, handle);
  const Tensor workspace = Tensor::empty({plan.workspace_bytes()}, DType::u8);
  plan.run(handle, operands, workspace.raw_data());
}

}  // namespace

void kernels::Conv2d::on_gpu() const {
  if (y.elements() == 0) return;
  Convolution convolution(ConvolutionPass::forward, x.dtype(), x.shape(), kernel.shape(), y.shape(), window);
  convolution.bias = bias.defined();
  // Without a bias, cuDNN has a relu only in kernels that it compiles while the program runs.
  convolution.relu = bias.defined() && activation == Activation::relu && cudnn::takes_relu(x.dtype());
  const Tensor images = aligned(x);
  const Tensor shift = bias.defined() ? aligned(in_dtype(x.dtype(), bias)) : bias;
  const LibraryResult result(y, convolution.relu ? Activation::linear : activation);
  run(convolution, {.x = images.raw_data(),
                    .kernel = filters.raw_data(),
                    .y = result.tensor().raw_data(),
                    .bias = shift.defined() ? shift.raw_data() : nullptr});
  result.finish();
}

void kernels::Conv2dGradientX::on_gpu() const {
  if (dx.elements() == 0) return;
  // In bf16, cuBLASLt adds in the same pass. f32 results must have the same bits with and without a gradient to add to.
  if (write == Write::add && dx.dtype() == DType::bf16 && is_product(dx, kernel.shape(), window) && sees_all(window)) {
    const Tensor weights = as_matrix(in_dtype(dx.dtype(), kernel));
    return kernels::DenseGradientX{pixels(dy), weights, write, pixels(dx)}.on_gpu();
  }
  if (write == Write::add) {
    const Tensor apart = Tensor::empty(dx.shape(), dx.dtype());
    kernels::Conv2dGradientX{dy, kernel, window, Write::replace, apart, filters}.on_gpu();
    return kernels::on_gpu(kernels::Binary{BinaryOp::add, dx, apart, dx});
  }
  const Convolution convolution(ConvolutionPass::gradient_x, dx.dtype(), dx.shape(), kernel.shape(), dy.shape(),
                                window);
  const Tensor gradient = aligned(dy);
  const Tensor written = is_aligned(dx) ? dx : Tensor::empty(dx.shape(), dx.dtype());
  run(convolution, {.x = written.raw_data(), .kernel = filters.raw_data(), .y = gradient.raw_data()});
  if (written.raw_data() != dx.raw_data()) kernels::on_gpu(kernels::Convert{written, dx});
}

void kernels::Conv2dGradientKernel::on_gpu() const {
  if (dy.elements() == 0) {
    kernels::on_gpu(kernels::Fill{dkernel, 0});
    if (dbias.defined()) kernels::on_gpu(kernels::Fill{dbias, 0});
    return;
  }
  const Convolution convolution(ConvolutionPass::gradient_kernel, x.dtype(), x.shape(), dkernel.shape(), dy.shape(),
                                window);
  const Tensor images = aligned(x);
  const Tensor gradient = aligned(dy);
  const Tensor filters = empty_filters_first(dkernel.shape(), x.dtype());
  run(convolution, {.x = images.raw_data(), .kernel = filters.raw_data(), .y = gradient.raw_data()});
  filters_last(filters, dkernel);
  if (dbias.defined()) kernels::on_gpu(kernels::SumMiddle{dy.view({1, -1, dy.dim(3)}), dbias.view({1, -1})});
}

}  // namespace lockstep
