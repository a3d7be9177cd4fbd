// Matrix products on cuBLASLt, which does in the same pass what matrix_product.h has as an epilogue, where it has an
// algorithm for that: what it does not take is left to the project's own kernels. NVIDIA promises the same bits at
// every run of all that it computes, when it is given a workspace as here.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/cuda/cublas.h>
#include <lockstep/kernels/cuda/known_plans.h>
#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/matmul/batch.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/device/cuda/gpu.h>

namespace lockstep {
namespace {

using cublas::Epilogue;
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

using Plans = KnownPlans<MatrixProduct, std::optional<ProductPlan>>;

/// The calling thread's.
Plans& known_plans() {
  thread_local Plans plans(1024);
  return plans;
}

void run(ProductPlan& plan, const ProductPlan::Operands& operands) {
  const Gpu& gpu = current_gpu();
  const Tensor workspace = Tensor::empty({static_cast<std::int64_t>(plan.workspace_bytes())}, DType::u8);
  plan.run(handle_of(gpu), operands, workspace.raw_data(), gpu.stream());
}

void run(const MatrixProduct& product, const ProductPlan::Operands& operands) {
  const Gpu& gpu = current_gpu();
  run(*known_plans().get(gpu.ordinal(), product,
                         [&] {
                           ProductPlan plan(product);
                           plan.choose_algorithm(handle_of(gpu));
                           return std::optional(std::move(plan));
                         }),
      operands);
}

/// Whether the library does what its heuristics say that it can, which is no promise. It is tried: what `operands` are
/// to be filled with is there then.
bool is_done(ProductPlan& plan, const ProductPlan::Operands& operands) try {
  run(plan, operands);
  return true;
} catch (const DeviceError&) {
  cudaGetLastError();  // it is not an error of the calls that come after
  return false;
}

/// Whether a plan's relu gives NaN for NaN, as relu of activations.h does; of the library's nothing is said. It is
/// tried: leaves something else where the result, y, is to be. Waits for it.
bool keeps_nan(ProductPlan& plan, ProductPlan::Operands operands, const Tensor& y) {
  operands.alpha = std::numeric_limits<float>::quiet_NaN();
  run(plan, operands);
  const std::vector<float> row = y.slice_view(0, 0, 1).to_vector<float>();
  return std::ranges::all_of(row, [](float value) { return std::isnan(value); });
}

/// Whether the product has been enqueued. If not, the library does not do its epilogue, or not as is wanted.
template <class IsRight = decltype([](const ProductPlan&) { return true; })>
bool run_if_taken(const MatrixProduct& product, const ProductPlan::Operands& operands, const IsRight& is_right = {}) {
  const Gpu& gpu = current_gpu();
  std::optional<ProductPlan>& plan = known_plans().get(gpu.ordinal(), product, [&] {
    std::optional<ProductPlan> made(product);
    if (!made->find_algorithm(handle_of(gpu)) || !is_done(*made, operands) || !is_right(*made)) made.reset();
    return made;
  });
  if (plan) run(*plan, operands);
  return plan.has_value();
}

// A bf16 product whose rows do not all begin at multiples of operand_alignment is slow: on an H200 cuBLASLt has kernels
// that reach 0.2 PFLOPS where others reach 0.6, and none on tensor cores for an f32 result, which is computed at 0.02
// PFLOPS. Large ones are computed on copies with longer rows, filled up with zeros.

constexpr std::int64_t row_elements = operand_alignment / static_cast<std::int64_t>(size_of(DType::bf16));

std::int64_t padded(std::int64_t columns) { return (columns + row_elements - 1) / row_elements * row_elements; }

/// Whether the product of matrices (n, in), (in, out) and (n, out) is faster on padded copies.
bool pads(std::int64_t n, std::int64_t in, std::int64_t out, DType operands, DType result) {
  const std::int64_t x = in == padded(in) ? 0 : n * padded(in);
  const std::int64_t y = out == padded(out) ? 0 : n * padded(out);
  if (operands != DType::bf16 || x + y == 0) return false;
  constexpr std::int64_t launches = std::int64_t{4} << 20;  // elements that are copied in the time of the launches
  const std::int64_t copied = x + y + padded(in) * padded(out) + launches;
  // Number of multiplications that padding makes faster by the time to copy an element.
  const std::int64_t multiplications = result == DType::f32 ? 16 : 200;
  return n * in * out > multiplications * copied;
}

/// The matrix itself if it has these sizes, else a copy with zeros behind its rows and columns.
Tensor fitted(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  if (x.dim(0) == rows && x.dim(1) == columns) return x;
  const Tensor copy = Tensor::empty({rows, columns}, x.dtype());
  kernels::on_gpu(kernels::FitMatrix{x, copy});
  return copy;
}

/// `result` itself if it has these sizes, else scratch memory.
Tensor room_for(const Tensor& result, std::int64_t rows, std::int64_t columns) {
  if (result.dim(0) == rows && result.dim(1) == columns) return result;
  return Tensor::empty({rows, columns}, result.dtype());
}

/// Copies what room_for() gave to the result.
void take_from(const Tensor& room, const Tensor& result) {
  if (room.raw_data() != result.raw_data()) kernels::on_gpu(kernels::FitMatrix{room, result});
}

/// x itself if cuBLASLt takes its strides, among them one for the whole batch, else a copy.
Tensor for_library(const Tensor& x) {
  const bool has_one_stride = batch_axes(x, x, x).sizes.rank() <= 1;
  return aligned(has_one_stride && has_contiguous_lines(x) ? x : make_dense(x));
}

/// The product of operands that cuBLASLt takes; in parts if different axes of the batch are broadcast.
void multiply(const Tensor& a, const Tensor& b, const Tensor& y) {
  const BatchAxes batch = batch_axes(a, b, y);
  if (batch.sizes.rank() > 1)
    return for_each_part(a, b, y, [](const Tensor& a_part, const Tensor& b_part, const Tensor& y_part) {
      multiply(aligned(a_part), aligned(b_part), y_part);
    });
  const auto strides = [](const Tensor& x, const Shape& of_batch) {
    const auto [row, column] = matrix_strides(x);
    return cublas::BatchStrides{of_batch.rank() == 0 ? 0 : of_batch[0], row, column};
  };
  const LibraryResult result(y);
  run(cublas::batched_product(batch.sizes.elements(), y.dim(-2), y.dim(-1), a.dim(-1), strides(a, batch.a),
                              strides(b, batch.b), y.dtype()),
      {.a = b.raw_data(), .b = a.raw_data(), .d = result.tensor().raw_data()});
  result.finish();
}

}  // namespace

void kernels::Dense::on_gpu() const {
  if (y.elements() == 0) return;
  if (pads(x.dim(0), x.dim(1), y.dim(1), x.dtype(), y.dtype())) {
    const std::int64_t n = x.dim(0);
    const std::int64_t in = padded(x.dim(1));
    const std::int64_t out = padded(y.dim(1));
    const Tensor shift = bias.defined() ? fitted(bias.view({1, bias.dim(0)}), 1, out).view({out}) : bias;
    const Tensor room = room_for(y, n, out);
    kernels::Dense{fitted(x, n, in), fitted(kernel, in, out), shift, activation, room}.on_gpu();
    return take_from(room, y);
  }
  const Tensor rows = aligned(x);
  const Tensor weights = aligned(kernel);
  const Tensor shift = bias.defined() ? aligned(in_dtype(y.dtype(), bias)) : bias;
  const auto product = [&](Epilogue epilogue) {
    return cublas::dense_product(x.dim(0), x.dim(1), y.dim(1), epilogue, x.dtype());
  };
  const auto operands = [&](const LibraryResult& result) {
    return ProductPlan::Operands{.a = weights.raw_data(),
                                 .b = rows.raw_data(),
                                 .d = result.tensor().raw_data(),
                                 .vector = shift.defined() ? shift.raw_data() : nullptr};
  };
  if (activation == Activation::relu) {
    const LibraryResult result(y);
    const ProductPlan::Operands all = operands(result);
    if (run_if_taken(product(shift.defined() ? Epilogue::relu_bias : Epilogue::relu), all,
                     [&](ProductPlan& plan) { return keeps_nan(plan, all, result.tensor()); }))
      return result.finish();
  }
  const LibraryResult result(y, activation);
  if (!shift.defined() || !run_if_taken(product(Epilogue::bias), operands(result))) {
    run(product(Epilogue::none), operands(result));
    if (shift.defined())
      kernels::on_gpu(
          kernels::Binary{BinaryOp::add, result.tensor(), shift.broadcast_view(y.shape()), result.tensor()});
  }
  result.finish();
}

void kernels::DenseGradientX::on_gpu() const {
  if (dx.elements() == 0) return;
  const std::int64_t n = dx.dim(0);
  const std::int64_t in = padded(dx.dim(1));
  const std::int64_t out = padded(dy.dim(1));
  const bool on_copies = pads(n, dx.dim(1), dy.dim(1), dx.dtype(), dx.dtype());
  if (write == Write::add && (!is_aligned(dx) || (on_copies && in != dx.dim(1)))) {
    const Tensor apart = Tensor::empty(dx.shape(), dx.dtype());
    kernels::DenseGradientX{dy, kernel, Write::replace, apart}.on_gpu();
    return kernels::on_gpu(kernels::Binary{BinaryOp::add, dx, apart, dx});
  }
  if (on_copies) {
    const Tensor room = room_for(dx, n, in);
    kernels::DenseGradientX{fitted(dy, n, out), fitted(kernel, in, out), write, room}.on_gpu();
    return take_from(room, dx);
  }
  const Tensor gradient = aligned(dy);
  const Tensor weights = aligned(kernel);
  const LibraryResult result(dx);
  run(cublas::dense_gradient_x_product(dx.dim(0), dx.dim(1), dy.dim(1), dx.dtype()),
      {.a = weights.raw_data(),
       .b = gradient.raw_data(),
       .d = result.tensor().raw_data(),
       .beta = write == Write::add ? 1.0F : 0.0F});
  result.finish();
}

void kernels::DenseGradientKernel::on_gpu() const {
  if (x.elements() == 0 || dy.elements() == 0) {
    kernels::on_gpu(kernels::Fill{dkernel, 0});
    if (dbias.defined()) kernels::on_gpu(kernels::Fill{dbias, 0});
    return;
  }
  if (pads(x.dim(0), x.dim(1), dy.dim(1), x.dtype(), dkernel.dtype())) {
    const std::int64_t n = x.dim(0);
    const std::int64_t in = padded(x.dim(1));
    const std::int64_t out = padded(dy.dim(1));
    const Tensor room = room_for(dkernel, in, out);
    const Tensor sums = dbias.defined() ? Tensor::empty({out}) : dbias;
    kernels::DenseGradientKernel{fitted(x, n, in), fitted(dy, n, out), room, sums}.on_gpu();
    if (dbias.defined()) take_from(sums.view({1, out}), dbias.view({1, dbias.dim(0)}));
    return take_from(room, dkernel);
  }
  const Tensor rows = aligned(x);
  const Tensor gradient = aligned(dy);
  const LibraryResult result(dkernel);
  const auto product = [&](Epilogue epilogue) {
    return cublas::dense_gradient_kernel_product(x.dim(0), x.dim(1), dy.dim(1), epilogue, x.dtype());
  };
  ProductPlan::Operands operands{.a = gradient.raw_data(), .b = rows.raw_data(), .d = result.tensor().raw_data()};
  if (dbias.defined()) {
    const LibraryResult sums(dbias);
    operands.vector = sums.tensor().raw_data();
    if (run_if_taken(product(Epilogue::bgrada), operands)) {
      sums.finish();
      return result.finish();
    }
  }
  run(product(Epilogue::none), operands);
  result.finish();
  if (dbias.defined())
    kernels::on_gpu(kernels::SumMiddle{dy.view({1, dy.dim(0), dy.dim(1)}), dbias.view({1, dy.dim(1)})});
}

void kernels::Matmul::on_gpu() const {
  if (y.elements() == 0) return;
  if (a.dim(-1) == 0) return kernels::on_gpu(kernels::Fill{y, 0});
  multiply(for_library(a), for_library(b), y);
}

}  // namespace lockstep
