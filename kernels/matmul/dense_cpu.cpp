// Matrix products with all operands in plain layouts: oneDNN does not reorder kernels, which can be much larger than
// the activations, unless there are many more rows. They use oneDNN's inner product, which calls its gemm. The data
// gradient of more than a few rows uses oneDNN's matmul instead: with the kernel transposed the gemm is slower, by a
// third for the rows of a time step, and divides long sums among threads.

#include <algorithm>
#include <utility>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/fused_activation.h>
#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/kernels/cpu/wide.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/write.h>

namespace lockstep {
namespace {

using cpu::better_wide;
using cpu::narrowed;
using cpu::widened;
using dnnl::memory;
using Tag = memory::format_tag;

/// Plain layouts of x (n, in), kernel (in, out) and y (n, out); oneDNN names a kernel's axes out first.
struct Geometry {
  memory::desc x, kernel, kernel_gradient, y, bias;

  Geometry(std::int64_t n, std::int64_t in, std::int64_t out, DType dtype, bool has_bias)
      : x({n, in}, onednn::data_type(dtype), Tag::nc),
        kernel({out, in}, onednn::data_type(dtype), Tag::io),
        kernel_gradient({out, in}, memory::data_type::f32, Tag::io),
        y({n, out}, onednn::data_type(dtype), Tag::nc),
        bias(has_bias ? memory::desc({out}, memory::data_type::f32, Tag::x) : memory::desc()) {}
};

/// The key of a plan for x (n, in) and y (n, out).
onednn::PlanKey key_of(const Tensor& x, const Tensor& y, bool has_bias, Activation activation = Activation::linear) {
  return {x.dim(0), x.dim(1),
          y.dim(1), static_cast<std::int64_t>(x.dtype()),
          has_bias, static_cast<std::int64_t>(activation)};
}

dnnl::inner_product_forward::primitive_desc describe_forward(const Geometry& g, Activation activation) {
  return onednn::describe<dnnl::inner_product_forward>(onednn::attributes(activation),
                                                       dnnl::prop_kind::forward_training, g.x, g.kernel, g.bias, g.y);
}

onednn::Plan forward_plan(const Geometry& g, Activation activation) {
  const auto description = describe_forward(g, activation);
  return {dnnl::inner_product_forward(description), description.scratchpad_desc(), g.kernel, {}};
}

onednn::Plan gradient_x_plan(const Geometry& g) {
  const auto description = onednn::describe_gradient<dnnl::inner_product_backward_data>(
      describe_forward(g, Activation::linear), onednn::attributes(), g.x, g.kernel, g.y);
  return {dnnl::inner_product_backward_data(description), description.scratchpad_desc(), g.kernel, {}};
}

/// Whether to reorder the kernel into the layout that oneDNN's matmul prefers. In f32 that makes matmul up to 9 %
/// faster, which pays off for this number of rows; in bf16 it makes no difference (measured with oneDNN 2.6 on AMD and
/// Intel processors with AVX-512).
bool reorder_pays(const Tensor& dy, const Tensor& dx) {
  return dx.dtype() == DType::f32 && dx.dim(0) >= std::max(dx.dim(1), dy.dim(1));
}

/// `kernel`: the plain layout, or `any` to let oneDNN choose.
onednn::Plan gradient_x_product_plan(const Geometry& g, Write write, const memory::desc& transposed_kernel,
                                     const memory::desc& kernel) {
  const auto description = onednn::describe<dnnl::matmul>(onednn::attributes(write), g.y, kernel, g.x);
  return onednn::reading_plan(description, dnnl::matmul(description), transposed_kernel);
}

onednn::Plan gradient_kernel_plan(const Geometry& g) {
  const auto description = onednn::describe_gradient<dnnl::inner_product_backward_weights>(
      describe_forward(g, Activation::linear), onednn::attributes(), g.x, g.kernel_gradient, g.bias, g.y);
  return {dnnl::inner_product_backward_weights(description), description.scratchpad_desc(), g.kernel_gradient, {}};
}

/// Whether oneDNN's matmul computes the kernel gradient faster than its inner product, in 0.75 to 0.98 of the time
/// (measured with oneDNN 2.6 on an Intel processor with AVX-512, up to 4096 rows).
bool transposing_pays(const Tensor& x, const Tensor& dy) {
  const std::int64_t rows = x.dim(0), in = x.dim(1), out = dy.dim(1);
  return x.dtype() == DType::f32 && 256 <= rows && rows <= 4096 && 64 <= out && out <= 512 && in >= 2 * out &&
         in * out >= 1 << 16 && onednn::has_avx512();
}

void gradient_kernel_of_rows(const Tensor& x, const Tensor& dy, Write write, const Tensor& dkernel) {
  thread_local onednn::PlanCache plans("kernel gradient of a matrix product");
  const auto plain = [](std::int64_t rows, std::int64_t columns, Tag layout) {
    return memory::desc({rows, columns}, memory::data_type::f32, layout);
  };
  const memory::desc transposed_x = plain(x.dim(1), x.dim(0), Tag::ba);
  const memory::desc of_dy = plain(dy.dim(0), dy.dim(1), Tag::ab);
  const memory::desc of_kernel = plain(dkernel.dim(0), dkernel.dim(1), Tag::ab);
  onednn::PlanKey key = key_of(x, dy, false);
  key.back() = static_cast<std::int64_t>(write);
  const onednn::Plan& plan = plans.get(key, [&] {
    const auto description = onednn::describe<dnnl::matmul>(onednn::attributes(write), transposed_x, of_dy, of_kernel);
    return onednn::Plan{dnnl::matmul(description), description.scratchpad_desc(), of_kernel, {}};
  });
  onednn::execute("a kernel gradient of a matrix product", plan,
                  {{DNNL_ARG_SRC, onednn::bind(transposed_x, x)},
                   {DNNL_ARG_WEIGHTS, onednn::bind(of_dy, dy)},
                   {DNNL_ARG_DST, onednn::bind(of_kernel, dkernel)}});
}

/// From 2048 rows on, matmul divides the sums among threads, so that the bits depend on their number: it gets fewer.
void gradient_kernel_as_product(const Tensor& x, const Tensor& dy, const Tensor& dkernel) {
  constexpr std::int64_t most_rows = 2047;
  const std::int64_t rows = x.dim(0);
  const std::int64_t parts = (rows + most_rows - 1) / most_rows;
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto of_part = [&](const Tensor& all) {
      return all.slice_view(0, part * rows / parts, (part + 1) * rows / parts);
    };
    gradient_kernel_of_rows(of_part(x), of_part(dy), part == 0 ? Write::replace : Write::add, dkernel);
  }
}

void gradient_x_of_few_rows(const Geometry& g, const Tensor& dy, const Tensor& kernel, const Tensor& dx) {
  thread_local onednn::PlanCache plans("data gradient of a matrix product");
  const onednn::Plan& plan = plans.get(key_of(dx, dy, false), [&] { return gradient_x_plan(g); });
  onednn::execute("a data gradient of a matrix product", plan,
                  {{DNNL_ARG_DIFF_DST, onednn::bind(g.y, dy)},
                   {DNNL_ARG_WEIGHTS, onednn::bind(g.kernel, kernel)},
                   {DNNL_ARG_DIFF_SRC, onednn::bind(g.x, dx)}});
}

void gradient_x_as_product(const Geometry& g, const Tensor& dy, const Tensor& kernel, Write write, const Tensor& dx) {
  thread_local onednn::PlanCache plans("data gradient of a matrix product");
  const auto transposed = [&](Tag layout) {
    return memory::desc({dy.dim(1), dx.dim(1)}, onednn::data_type(dx.dtype()), layout);
  };
  const memory::desc plain = transposed(Tag::ba);
  onednn::PlanKey key = key_of(dx, dy, false);
  key.back() = static_cast<std::int64_t>(write);
  const onednn::Plan& plan = plans.get(key, [&] {
    return gradient_x_product_plan(g, write, plain, reorder_pays(dy, dx) ? transposed(Tag::any) : plain);
  });
  const Tensor weights = onednn::in_layout_of(plan, plain, kernel);
  onednn::execute("a data gradient of a matrix product", plan,
                  {{DNNL_ARG_SRC, onednn::bind(g.y, dy)},
                   {DNNL_ARG_WEIGHTS, onednn::bind(plan.weights, weights)},
                   {DNNL_ARG_DST, onednn::bind(g.x, dx)}});
}

}  // namespace

void kernels::Dense::on_cpu() const {
  if (y.elements() == 0) return;
  if (better_wide(x))
    return narrowed(y, [&](const Tensor& wide) {
      kernels::Dense{widened(x), widened(kernel), bias, activation, wide}.on_cpu();
    });
  thread_local onednn::PlanCache plans("matrix product");
  const Geometry g(x.dim(0), x.dim(1), y.dim(1), x.dtype(), bias.defined());
  const Activation within = onednn::applies(activation) ? activation : Activation::linear;
  const onednn::Plan& plan = plans.get(key_of(x, y, bias.defined(), within), [&] { return forward_plan(g, within); });
  onednn::Arguments arguments{{DNNL_ARG_SRC, onednn::bind(g.x, x)},
                              {DNNL_ARG_WEIGHTS, onednn::bind(g.kernel, kernel)},
                              {DNNL_ARG_DST, onednn::bind(g.y, y)}};
  if (bias.defined()) arguments.emplace(DNNL_ARG_BIAS, onednn::bind(g.bias, bias));
  onednn::execute("a matrix product", plan, std::move(arguments));
  if (within != activation) kernels::Unary{*function_of(activation), y, y}.on_cpu();
}

void kernels::DenseGradientX::on_cpu() const {
  if (dx.elements() == 0) return;
  constexpr std::int64_t few_rows = 16;
  const bool has_few_rows = dx.dim(0) < few_rows;
  if (write == Write::add && (has_few_rows || better_wide(dx))) {
    const Tensor apart = Tensor::empty(dx.shape(), dx.dtype());
    kernels::DenseGradientX{dy, kernel, Write::replace, apart}.on_cpu();
    return kernels::Binary{BinaryOp::add, dx, apart, dx}.on_cpu();
  }
  if (better_wide(dx))
    return narrowed(dx, [&](const Tensor& wide) {
      kernels::DenseGradientX{widened(dy), widened(kernel), Write::replace, wide}.on_cpu();
    });
  const Geometry g(dx.dim(0), dx.dim(1), dy.dim(1), dx.dtype(), false);
  if (has_few_rows)
    gradient_x_of_few_rows(g, dy, kernel, dx);
  else
    gradient_x_as_product(g, dy, kernel, write, dx);
}

void kernels::DenseGradientKernel::on_cpu() const {
  if (x.elements() == 0 || dy.elements() == 0) {
    kernels::Fill{dkernel, 0}.on_cpu();
    if (dbias.defined()) kernels::Fill{dbias, 0}.on_cpu();
    return;
  }
  if (better_wide(x)) return kernels::DenseGradientKernel{widened(x), widened(dy), dkernel, dbias}.on_cpu();
  if (transposing_pays(x, dy)) {
    gradient_kernel_as_product(x, dy, dkernel);
    if (dbias.defined()) kernels::SumMiddle{dy.view({1, dy.dim(0), dy.dim(1)}), dbias.view({1, dy.dim(1)})}.on_cpu();
    return;
  }
  thread_local onednn::PlanCache plans("kernel gradient of a matrix product");
  const Geometry g(x.dim(0), x.dim(1), dy.dim(1), x.dtype(), dbias.defined());
  const onednn::Plan& plan = plans.get(key_of(x, dy, dbias.defined()), [&] { return gradient_kernel_plan(g); });
  onednn::Arguments arguments{{DNNL_ARG_SRC, onednn::bind(g.x, x)},
                              {DNNL_ARG_DIFF_DST, onednn::bind(g.y, dy)},
                              {DNNL_ARG_DIFF_WEIGHTS, onednn::bind(g.kernel_gradient, dkernel)}};
  if (dbias.defined()) arguments.emplace(DNNL_ARG_DIFF_BIAS, onednn::bind(g.bias, dbias));
  onednn::execute("a kernel gradient of a matrix product", plan, std::move(arguments));
}

}  // namespace lockstep
