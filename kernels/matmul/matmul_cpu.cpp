// Products of matrices on oneDNN's matmul, which takes transposed matrices and axes of a batch in any order. It would
// compute matrices without contiguous lines a thousand times slower than others, and matrices with gaps between their
// lines by another algorithm, slower in bf16 and with other bits: these are copied.

#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/kernels/cpu/wide.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/matmul/batch.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>

namespace lockstep {
namespace {

using dnnl::memory;

/// Axes of a batch that one product has; oneDNN's fast algorithms have no more.
constexpr int most_batch_axes = 2;

/// Whether the elements, in some order of the axes, fill their memory.
bool has_no_gaps(const Tensor& x) {
  std::int64_t extent = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x.shape()[axis] > 1 && x.strides()[axis] == 0) return false;
    extent += (x.shape()[axis] - 1) * x.strides()[axis];
  }
  return extent == x.elements();
}

/// x itself if oneDNN takes its strides, else a copy. Transposed matrices stay so, since the bits depend on it.
Tensor for_library(const Tensor& x) {
  if (has_contiguous_lines(x) && has_no_gaps(x)) return x;
  const auto [row, column] = matrix_strides(x);
  const auto in_order = [transposed = row < column](const Tensor& t) {
    return transposed ? t.transposed_view(-2, -1) : t;
  };
  const Tensor copy = Tensor::empty(in_order(x).shape(), x.dtype());
  kernels::Convert{in_order(x), copy}.on_cpu();
  return in_order(copy);
}

/// The matrices of x, a batch of sizes `batch` with these strides.
memory::desc describe(const Tensor& x, const Shape& batch, const Shape& batch_strides) {
  memory::dims sizes;
  memory::dims strides;
  const auto append = [&](std::int64_t size, std::int64_t stride) {
    sizes.push_back(size);
    strides.push_back(stride);
  };
  for (int axis = 0; axis < batch.rank(); ++axis) {
    const bool broadcast = batch_strides[axis] == 0;
    append(broadcast ? 1 : batch[axis], broadcast ? x.dim(-2) * x.dim(-1) : batch_strides[axis]);
  }
  const auto [row, column] = matrix_strides(x);
  append(x.dim(-2), row);
  append(x.dim(-1), column);
  return {sizes, onednn::data_type(x.dtype()), strides};
}

onednn::PlanKey key_of(const Tensor& a, const Tensor& b, const BatchAxes& batch) {
  const auto [a_row, a_column] = matrix_strides(a);
  const auto [b_row, b_column] = matrix_strides(b);
  onednn::PlanKey key{
      static_cast<std::int64_t>(a.dtype()), a.dim(-2), a.dim(-1), b.dim(-1), a_row, a_column, b_row, b_column};
  auto next = key.begin() + 8;
  for (int axis = 0; axis < batch.sizes.rank(); ++axis)
    for (const Shape* of : {&batch.sizes, &batch.a, &batch.b}) *next++ = (*of)[axis];
  return key;
}

void multiply(const Tensor& a, const Tensor& b, const Tensor& y) {
  const BatchAxes batch = batch_axes(a, b, y);
  if (batch.sizes.rank() > most_batch_axes) return for_each_part(a, b, y, multiply);
  const memory::desc a_layout = describe(a, batch.sizes, batch.a);
  const memory::desc b_layout = describe(b, batch.sizes, batch.b);
  const memory::desc y_layout = describe(y, batch.sizes, batch.y);
  thread_local onednn::PlanCache plans("product of matrices");
  const onednn::Plan& plan = plans.get(key_of(a, b, batch), [&] {
    const auto description = onednn::describe<dnnl::matmul>(onednn::attributes(), a_layout, b_layout, y_layout);
    return onednn::reading_plan(description, dnnl::matmul(description), b_layout);
  });
  onednn::execute("a product of matrices", plan,
                  {{DNNL_ARG_SRC, onednn::bind(a_layout, a)},
                   {DNNL_ARG_WEIGHTS, onednn::bind(b_layout, b)},
                   {DNNL_ARG_DST, onednn::bind(y_layout, y)}});
}

}  // namespace

void kernels::Matmul::on_cpu() const {
  if (y.elements() == 0) return;
  if (a.dim(-1) == 0) return kernels::Fill{y, 0}.on_cpu();
  if (cpu::better_wide(a))
    return cpu::narrowed(
        y, [&](const Tensor& wide) { multiply(for_library(cpu::widened(a)), for_library(cpu::widened(b)), wide); });
  multiply(for_library(a), for_library(b), y);
}

}  // namespace lockstep
