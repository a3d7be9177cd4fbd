#include "lockstep/kernels/matmul/matmul.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/broadcast_gradient.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/op/broadcast.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/sum_axes.h>

namespace lockstep {
namespace {

void check_operands(const Tensor& a, const Tensor& b) {
  require_same_dtype("matmul", a, b);
  require(a.rank() >= 1 && b.rank() >= 1, "matmul takes tensors of at least one axis, got {} and {}", a, b);
  const std::int64_t columns = a.dim(-1);
  const std::int64_t rows = b.dim(b.rank() == 1 ? 0 : -2);
  require(columns == rows, "matmul of {} and {}: the rows of the first have {} elements, the columns of the second {}",
          a.shape(), b.shape(), columns, rows);
}

/// The axes before the last two.
Shape batch_of(const Tensor& x) {
  Shape batch;
  for (int axis = 0; axis < x.rank() - 2; ++axis) batch.push_back(x.shape()[axis]);
  return batch;
}

Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

/// x with further axes of size 1 in front.
Tensor of_rank(int rank, const Tensor& x) {
  Shape shape;
  for (int axis = x.rank(); axis < rank; ++axis) shape.push_back(1);
  for (const std::int64_t size : x.shape()) shape.push_back(size);
  return x.broadcast_view(shape);
}

/// The operands and the shape of the result of kernels::Matmul.
struct Product {
  Tensor a, b;
  Shape y;
};

Product product_of(const Tensor& left, const Tensor& right) {
  const Tensor a = left.rank() == 1 ? make_dense(left).view({1, left.dim(0)}) : left;
  const Tensor b = right.rank() == 1 ? make_dense(right).view({right.dim(0), 1}) : right;
  const std::int64_t n = b.dim(-1);
  if (b.rank() == 2 && a.rank() > 2) {  // one product of all rows; the gradient of b, too, which then needs no sum
    std::int64_t rows = 1;
    for (int axis = 0; axis < a.rank() - 1; ++axis) rows *= a.shape()[axis];
    return {make_dense(a).view({rows, a.dim(-1)}), b, {rows, n}};
  }
  const Shape y = with_matrix(broadcast_shape("matmul's leading axes", batch_of(a), batch_of(b)), a.dim(-2), n);
  return {of_rank(y.rank(), a), of_rank(y.rank(), b), y};
}

Shape result_shape(const Tensor& a, const Tensor& b) {
  Shape shape = broadcast_shape("matmul's leading axes", batch_of(a), batch_of(b));
  if (a.rank() > 1) shape.push_back(a.dim(-2));
  if (b.rank() > 1) shape.push_back(b.dim(-1));
  return shape;
}

void launch_product(const Tensor& a, const Tensor& b, const Tensor& y) {
  is_real(y.dtype()) ? launch(kernels::Matmul{a, b, y}) : launch(kernels::IntegerMatmul{a, b, y});
}

/// out = a b, summed over the leading axes that are 1 in `out`.
void multiply_and_sum(const Tensor& a, const Tensor& b, const Shape& batch, const Tensor& out) {
  const Shape whole = with_matrix(batch, out.dim(-2), out.dim(-1));
  if (whole == out.shape()) return launch(kernels::Matmul{a, b, out});
  const Tensor unreduced = Tensor::empty(whole, out.dtype());
  launch(kernels::Matmul{a, b, unreduced});
  sum_to_shape(unreduced, out);
}

/// The gradients by ops.
void contribute_by_ops(BackwardContext& c, const Tensor& a, const Tensor& b) {
  const Tensor left = a.rank() == 1 ? expand_dims(a, 0) : a;
  const Tensor right = b.rank() == 1 ? expand_dims(b, 1) : b;
  Tensor dy = c.gradient(0);
  if (b.rank() == 1) dy = expand_dims(dy, -1);
  if (a.rank() == 1) dy = expand_dims(dy, -2);
  contribute_ops(c, 0,
                 [&] { return reshape(summed_to(matmul(dy, swapaxes(right, -2, -1)), left.shape()), a.shape()); });
  contribute_ops(c, 1,
                 [&] { return reshape(summed_to(matmul(swapaxes(left, -2, -1), dy), right.shape()), b.shape()); });
}

void contribute_gradients(BackwardContext& c, const Product& p, const Shape& a, const Shape& b) {
  const Tensor& gradient = c.gradient(0);
  const Tensor dy = gradient.shape() == p.y ? gradient : make_dense(gradient).view(p.y);
  contribute(
      c, 0, a,
      [&](const Tensor& out) {
        multiply_and_sum(dy, p.b.transposed_view(-2, -1), batch_of(dy), out.view(p.a.shape()));
      },
      dy.dtype());
  contribute(
      c, 1, b,
      [&](const Tensor& out) {
        multiply_and_sum(p.a.transposed_view(-2, -1), dy, batch_of(dy), out.view(p.b.shape()));
      },
      dy.dtype());
}

}  // namespace

Tensor matmul(const Tensor& left, const Tensor& right) try {
  check_operands(left, right);
  const Tensor a = to_current_device(left);
  const Tensor b = to_current_device(right);
  const Tensor y = Tensor::empty(result_shape(a, b), a.dtype());
  const Product product = product_of(a, b);
  launch_product(product.a, product.b, y.view(product.y));
  if (is_real(y.dtype()) && recording({a, b})) {
    // What the gradient by ops reads; it has no memory of its own unless several tapes record.
    const auto kept = [](const Tensor& x, const Tensor& operand) {
      return several_tapes_record() || operand.raw_data() == x.raw_data() ? x : operand.view(x.shape());
    };
    record("matmul", {a, b}, y, [product, a = kept(a, product.a), b = kept(b, product.b)](BackwardContext& c) {
      c.is_recorded() ? contribute_by_ops(c, a, b) : contribute_gradients(c, product, a.shape(), b.shape());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("matmul", error);
}

}  // namespace lockstep
