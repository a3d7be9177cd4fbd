#pragma once

#include <cstdint>
#include <span>

#include <lockstep/kernels/op_kinds.h>
#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/random_key.h>
#include <lockstep/kernels/reduce.h>
#include <lockstep/kernels/update.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Strides and explicit padding of a convolution or pooling window.
struct Window2d {
  std::int64_t height = 1, width = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
};

/// The op table: what each kind of device must be able to do. Arguments have been checked and results allocated by the
/// ops (kernels/ops), which compose everything else from these. Tensors are dense f32 unless said; "rows" means that
/// all axes but the last are dense among themselves and only the row stride may be wider than the last axis, as in a
/// channel slice.
class Backend {
 public:
  virtual ~Backend() = default;

  // Element-wise, cpu/elementwise.cpp.
  virtual void unary(UnaryOp op, const Tensor& x, const Tensor& y) = 0;
  /// dx = dy * op'(x), where y = op(x).
  virtual void unary_gradient(UnaryOp op, const Tensor& x, const Tensor& y, const Tensor& dy, const Tensor& dx) = 0;
  /// out = a op b; a and b have out's rank, any strides (0 on broadcast axes).
  virtual void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) = 0;
  /// y = x * scale + shift.
  virtual void affine(const Tensor& x, float scale, float shift, const Tensor& y) = 0;
  /// out += sign * x, sign 1 or -1; x of any strides; f32, bf16, i32 or i64.
  virtual void accumulate(const Tensor& x, int sign, const Tensor& out) = 0;
  /// Copies any strides and dtype to any strides and dtype of the same shape.
  virtual void convert(const Tensor& x, const Tensor& y) = 0;
  virtual void fill(const Tensor& x, float value) = 0;
  /// average = average * momentum + value * (1 - momentum).
  virtual void moving_average(const Tensor& average, const Tensor& value, float momentum) = 0;
  virtual void dropout(const Tensor& x, float rate, const RandomKey& key, const Tensor& y) = 0;

  // Reductions, cpu/reduction.cpp.
  /// y (outer, inner) = sum over the middle axis of x (outer, n, inner).
  virtual void sum_middle(const Tensor& x, const Tensor& y) = 0;
  /// y (rows) i64 = index of the first largest of x (rows, n).
  virtual void argmax(const Tensor& x, const Tensor& y) = 0;

  // Rows by index, cpu/rows.cpp. Indices are i64.
  /// y (n, inner) = rows indices (n) of x (rows, inner). Returns the first place of an index outside, or -1.
  virtual std::int64_t gather_rows(const Tensor& x, const Tensor& indices, const Tensor& y) = 0;
  /// Row indices[i] of out (rows, inner) += row i of values (n, inner), in the order of i; f32 or bf16. Returns as
  /// gather_rows; what is outside is left out.
  virtual std::int64_t scatter_add_rows(const Tensor& values, const Tensor& indices, const Tensor& out) = 0;

  // Losses, cpu/cross_entropy.cpp.
  virtual void softmax(const Tensor& logits, const Tensor& y) = 0;
  /// dx = y * (dy - sum(dy * y)) by row.
  virtual void softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) = 0;
  /// loss (rows) and probabilities (rows, n) from logits (rows, n) and i64 labels (rows). Returns the first row whose
  /// label is outside [0, n), or -1.
  virtual std::int64_t sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels, const Tensor& loss,
                                                    const Tensor& probabilities) = 0;
  /// dx = dloss (rows) * (probabilities - one_hot(labels)).
  virtual void sparse_softmax_cross_entropy_gradient(const Tensor& probabilities, const Tensor& labels,
                                                     const Tensor& dloss, const Tensor& dx) = 0;
  /// Binary cross-entropy by element of logits or of probabilities, and its gradient with respect to x.
  virtual void binary_cross_entropy(bool from_logits, const Tensor& x, const Tensor& targets, const Tensor& loss) = 0;
  virtual void binary_cross_entropy_gradient(bool from_logits, const Tensor& x, const Tensor& targets,
                                             const Tensor& dloss, const Tensor& dx) = 0;

  // Convolution, cpu/conv2d.cpp. bias and dbias may be undefined.
  virtual void conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window,
                      const Tensor& y) = 0;
  virtual void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, const Tensor& dx) = 0;
  virtual void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel,
                                      const Tensor& dbias) = 0;

  // Matrix products, cpu/dense.cpp. bias and dbias may be undefined.
  virtual void dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation,
                     const Tensor& y) = 0;
  virtual void dense_gradient_x(const Tensor& dy, const Tensor& kernel, const Tensor& dx) = 0;
  virtual void dense_gradient_kernel(const Tensor& x, const Tensor& dy, const Tensor& dkernel, const Tensor& dbias) = 0;

  // Batch normalization over rows of channels, cpu/batch_norm.cpp.
  virtual void channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) = 0;
  /// y (rows) = [relu](gamma * (x - mean) / sqrt(variance + epsilon) + beta).
  virtual void batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                          const Tensor& variance, float epsilon, bool relu, const Tensor& y) = 0;
  /// Gradients from dy (rows). `batch_statistics`: mean and variance are x's own, and dx accounts for that.
  /// dx may be x itself. dx, dgamma, dbeta may be undefined when not wanted.
  virtual void batch_norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                   const Tensor& variance, float epsilon, bool relu, bool batch_statistics,
                                   const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta) = 0;

  // Pooling, cpu/pool2d.cpp. y and dy are rows.
  virtual void max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) = 0;
  virtual void max_pool2d_gradient(const Tensor& x, const Window2d& window, const Tensor& dy, const Tensor& dx) = 0;
  virtual void average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) = 0;
  virtual void average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) = 0;

  // One time step of an LSTM, cpu/lstm.cpp. gates, recurrent and dsums are (n, 4 units), the gates i, f, c, o side by
  // side; the others (n, units).
  /// `gates` holds the inputs' part of the gates' sums, to which `recurrent` is added, and then the gates themselves.
  virtual void lstm_step(const Tensor& gates, const Tensor& recurrent, const Tensor& c_before, const Tensor& c,
                         const Tensor& h) = 0;
  /// dsums from dh and dc; dc becomes the gradient of c_before.
  virtual void lstm_step_gradient(const Tensor& gates, const Tensor& c_before, const Tensor& c, const Tensor& dh,
                                  const Tensor& dc, const Tensor& dsums) = 0;

  // Flat memory, cpu/update.cpp.
  /// Throw InvalidArgument for a mean of integers.
  virtual void reduce(ReduceOp op, const ReduceViews<float>& views) = 0;
  virtual void reduce(ReduceOp op, const ReduceViews<bfloat16>& views) = 0;
  virtual void reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) = 0;
  virtual void reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) = 0;
  virtual void update(const OptimizerStep& step, const UpdateViews& views) = 0;
  /// Sum of squares, in f64; `count` alone decides the order of addition.
  virtual double squared_norm(const float* x, std::int64_t count) = 0;
};

/// The op table of a kind of device. Throws Unsupported naming the kind when this build has none.
Backend& backend(DeviceKind kind);
/// The op table for the calling thread's device.
Backend& current_backend();

}  // namespace lockstep
