#include "lockstep/kernels/matmul/dense.h"

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/fused_activation.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/write.h>

namespace lockstep {
namespace {

void check_operands(const Tensor& x, const Tensor& kernel, const Tensor& bias) {
  require(x.defined() && x.rank() >= 2 && is_real(x.dtype()), "dense: x must be f32 or bf16 (n, ..., inputs), got {}",
          x);
  require(kernel.defined() && kernel.rank() == 2 && kernel.dtype() == DType::f32 && kernel.dim(0) == x.dim(-1) &&
              kernel.dim(0) >= 1 && kernel.dim(1) >= 1,
          "dense: the kernel for x {} must be f32 ({}, units), got {}", x.shape(), x.dim(-1), kernel);
  require(!bias.defined() || (bias.shape() == Shape{kernel.dim(1)} && bias.dtype() == DType::f32),
          "dense: the bias for kernel {} must be f32 ({}), got {}", kernel.shape(), kernel.dim(1), bias);
}

/// x (..., columns), dense, as a matrix. Precondition: there are columns.
Tensor as_matrix(const Tensor& x) { return x.view({x.elements() / x.dim(-1), x.dim(-1)}); }

/// Contributes the gradients from those of the products' rows. x has the shape `shape` outside.
void contribute_gradients(BackwardContext& c, const Shape& shape, const Tensor& x, const Tensor& kernel,
                          const Tensor& dz) {
  const Shape bias_shape{kernel.dim(1)};
  Tensor dbias;
  if (c.needs(1) && c.needs(2)) dbias = memory_for(c, 2, bias_shape);  // computed together with the kernel's gradient
  contribute(c, 1, kernel.shape(), [&](const Tensor& out) { launch(kernels::DenseGradientKernel{x, dz, out, dbias}); });
  if (dbias.defined())
    hand_over(c, 2, dbias);
  else
    contribute(c, 2, bias_shape, [&](const Tensor& out) {
      launch(kernels::SumMiddle{dz.view({1, dz.dim(0), dz.dim(1)}), out.view({1, dz.dim(1)})});
    });
  contribute_or_add(
      c, 0, shape,
      [&](Write write, const Tensor& out) {
        launch(kernels::DenseGradientX{dz, kernel, write, as_matrix(out)});
      },
      dz.dtype());
}

/// The gradients by ops, from those of the products.
void contribute_by_ops(BackwardContext& c, const Tensor& x, const Tensor& kernel, const Tensor& dz) {
  const Tensor rows = reshape(dz, {-1, kernel.dim(1)});
  contribute_ops(c, 0, [&] { return matmul(dz, transpose(cast(kernel, x.dtype()))); });
  contribute_ops(c, 1, [&] {
    return cast(matmul(transpose(reshape(x, {rows.dim(0), kernel.dim(0)})), rows), DType::f32);
  });
  contribute_ops(c, 2, [&] { return sum(cast(rows, DType::f32), {0}); });
}

}  // namespace

Tensor dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation) try {
  check_operands(x, kernel, bias);
  if (!is_fusable(activation)) return activate(dense(x, kernel, bias), activation);
  const Tensor input = dense_copy(x);
  const Tensor parameters = dense_copy(kernel);
  // Trained parameters are f32; products of bf16 take x and the kernel as bf16.
  const Tensor weights = in_dtype(x.dtype(), parameters);
  const Tensor shift = bias.defined() ? dense_copy(bias) : bias;
  const Tensor rows = as_matrix(input);
  Shape shape = x.shape();
  shape[x.rank() - 1] = kernel.dim(1);
  const Tensor y = Tensor::empty(shape, x.dtype());
  launch(kernels::Dense{rows, weights, shift, activation, as_matrix(y)});
  if (recording({input, parameters, shift})) {
    const Tensor kept = activation == Activation::linear ? Tensor() : y;
    record("dense", {input, parameters, shift}, y, [input, parameters, weights, activation, kept](BackwardContext& c) {
      const Tensor dz = before_activation(activation, kept, c.gradient(0));
      if (c.is_recorded()) return contribute_by_ops(c, input, parameters, dz);
      contribute_gradients(c, input.shape(), as_matrix(input), weights, as_matrix(dz));
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("dense", error);
}

}  // namespace lockstep
