// Matrix products on cuBLASLt, which adds the bias in the same pass. Activations are left to the backend's own kernels:
// how the library's relu treats NaN is not said anywhere.

#include <map>
#include <utility>

#include <lockstep/kernels/cuda/cublas.h>
#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/kernels/ops/layout.h>
#include <lockstep/runtime/device/cuda/gpu.h>

namespace lockstep {
namespace {

using cublas::MatrixProduct;
using cublas::ProductPlan;

/// The library's state for one thread's work on one physical GPU.
cublasLtHandle_t handle_of(const Gpu& gpu) {
  thread_local std::map<int, cublas::Handle> handles;
  cublas::Handle& handle = handles[gpu.ordinal()];
  if (!handle) {
    cublasLtHandle_t made = nullptr;
    cublas::check(cublas::functions().create(&made), "cublasLtCreate");
    handle.reset(made);
  }
  return handle.get();
}

/// The calling thread's plan for a physical GPU, made at first use.
ProductPlan& plan_of(const MatrixProduct& product, const Gpu& gpu, cublasLtHandle_t handle) {
  thread_local std::map<std::pair<int, MatrixProduct>, ProductPlan> plans;
  // Far more than the layers of a model; keeps a program whose shapes never repeat from growing without end.
  constexpr std::size_t limit = 1024;
  const std::pair key(gpu.ordinal(), product);
  if (const auto found = plans.find(key); found != plans.end()) return found->second;
  if (plans.size() >= limit) plans.clear();
  ProductPlan plan(product);
  plan.choose_algorithm(handle);
  return plans.emplace(key, std::move(plan)).first->second;
}

void run(const MatrixProduct& product, const ProductPlan::Operands& operands) {
  const Gpu& gpu = current_gpu();
  const cublasLtHandle_t handle = handle_of(gpu);
  ProductPlan& plan = plan_of(product, gpu, handle);
  const Tensor workspace = Tensor::empty({static_cast<std::int64_t>(plan.workspace_bytes())}, DType::u8);
  plan.run(handle, operands, workspace.raw_data(), gpu.stream());
}

}  // namespace

void CudaBackend::dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation,
                        const Tensor& y) {
  if (y.elements() == 0) return;
  const Tensor rows = aligned(x);
  const Tensor weights = aligned(kernel);
  const Tensor shift = bias.defined() ? aligned(in_dtype(y.dtype(), bias)) : bias;
  const LibraryResult result(y, activation);
  run(cublas::dense_product(x.dim(0), x.dim(1), y.dim(1), bias.defined(), x.dtype()),
      {.a = weights.raw_data(),
       .b = rows.raw_data(),
       .d = result.tensor().raw_data(),
       .bias = shift.defined() ? shift.raw_data() : nullptr});
  result.finish();
}

void CudaBackend::dense_gradient_x(const Tensor& dy, const Tensor& kernel, const Tensor& dx) {
  if (dx.elements() == 0) return;
  const Tensor gradient = aligned(dy);
  const Tensor weights = aligned(kernel);
  const LibraryResult result(dx);
  run(cublas::dense_gradient_x_product(dx.dim(0), dx.dim(1), dy.dim(1), dx.dtype()),
      {.a = weights.raw_data(), .b = gradient.raw_data(), .d = result.tensor().raw_data()});
  result.finish();
}

void CudaBackend::dense_gradient_kernel(const Tensor& x, const Tensor& dy, const Tensor& dkernel, const Tensor& dbias) {
  if (x.elements() == 0 || dy.elements() == 0) {
    fill(dkernel, 0);
    if (dbias.defined()) fill(dbias, 0);
    return;
  }
  const Tensor rows = aligned(x);
  const Tensor gradient = aligned(dy);
  const LibraryResult result(dkernel);
  run(cublas::dense_gradient_kernel_product(x.dim(0), x.dim(1), dy.dim(1), x.dtype()),
      {.a = gradient.raw_data(), .b = rows.raw_data(), .d = result.tensor().raw_data()});
  result.finish();
  // The library's own sums (CUBLASLT_EPILOGUE_BGRADA) are not said to be added in a fixed order.
  if (dbias.defined()) sum_middle(dy.view({1, dy.dim(0), dy.dim(1)}), dbias.view({1, dy.dim(1)}));
}

}  // namespace lockstep
