#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include <lockstep/kernels/norm_limits.h>
#include <lockstep/kernels/op_kinds.h>
#include <lockstep/kernels/random_key.h>
#include <lockstep/kernels/reduce.h>
#include <lockstep/kernels/update.h>
#include <lockstep/kernels/whole_recurrence.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Size, strides, explicit padding and, of a convolution, the distance of taps of a window.
struct Window2d {
  ///@{
  /// In rows and columns of x.
  std::int64_t height = 1, width = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
  ///@}
};

/// An index of a row that scatter_add_rows leaves out.
inline constexpr std::int64_t no_row = std::numeric_limits<std::int64_t>::min();

/// The op table: what each kind of device must be able to do. Arguments have been checked and results allocated by the
/// ops (kernels/ops), which compose everything else from these. Tensors are dense f32 unless said; "rows" means that
/// all axes but the last are dense among themselves and only the row stride may be wider than the last axis, as in a
/// channel slice. The families marked "real" also take bf16 for everything but parameters, statistics and their
/// gradients, all of one dtype; they compute in f32 and round results.
class Backend {
 public:
  virtual ~Backend() = default;

  // Element-wise, cpu/elementwise.cpp. Real but for moving_average.
  /// y = f(x).
  virtual void unary(const UnaryFunction& f, const Tensor& x, const Tensor& y) = 0;
  /// dx = dy * f'(x), where `kept` is f(x) or x, as gradient_from_result (ops/unary.h) says.
  virtual void unary_gradient(const UnaryFunction& f, const Tensor& kept, const Tensor& dy, const Tensor& dx) = 0;
  /// out = a op b; a and b have out's rank, any strides (0 on broadcast axes).
  virtual void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) = 0;
  /// y = x * scale + shift.
  virtual void affine(const Tensor& x, float scale, float shift, const Tensor& y) = 0;
  /// out += sign * x, sign 1 or -1; x of any strides; i32 or i64, too.
  virtual void accumulate(const Tensor& x, int sign, const Tensor& out) = 0;
  /// Copies any strides and dtype to any strides and dtype of the same shape.
  virtual void convert(const Tensor& x, const Tensor& y) = 0;
  /// Every element of x = value.
  virtual void fill(const Tensor& x, float value) = 0;
  /// average = average * momentum + value * (1 - momentum).
  virtual void moving_average(const Tensor& average, const Tensor& value, float momentum) = 0;
  /// As lockstep::dropout (ops/dropout.h).
  virtual void dropout(const Tensor& x, float rate, const RandomKey& key, const Tensor& y) = 0;

  // Reductions, cpu/reduction.cpp. Real; y of a sum may have another dtype than x.
  /// y (outer, inner) = sum over the middle axis of x (outer, n, inner).
  virtual void sum_middle(const Tensor& x, const Tensor& y) = 0;
  /// y (rows) i64 = index of the first largest of x (rows, n).
  virtual void argmax(const Tensor& x, const Tensor& y) = 0;

  // Order, cpu/sort.cpp. Real; indices are i64.
  /// The first k of n elements along the middle axis of x (outer, n, inner), in the order that ops/sort.h describes,
  /// and the index that each had there: values and indices (outer, k, inner).
  virtual void sort_middle(const Tensor& x, SortDirection direction, const Tensor& values, const Tensor& indices) = 0;
  /// dx (outer, n, inner) = dy (outer, k, inner) at its indices, each of which is there once at most, and 0 elsewhere.
  virtual void sort_middle_gradient(const Tensor& dy, const Tensor& indices, const Tensor& dx) = 0;

  // Running sums, cpu/scan.cpp. Real.
  /// As lockstep::cumsum (ops/scan.h) along the middle axis of x (outer, n, inner); x's shape alone decides the order
  /// of addition.
  virtual void cumulative_sum(const Tensor& x, bool exclusive, bool reverse, const Tensor& y) = 0;

  // Weights, cpu/norm_limits.cpp.
  /// As lockstep::limit_norms (ops/norm_limits.h), of dense x whose axes first, first + 2, ... the vectors lie along.
  /// `first` is 0 or 1; x's shape alone decides the order of addition.
  virtual void limit_norms(const Tensor& x, int first, const NormLimits& limits) = 0;

  // Rows by index, cpu/rows.cpp. Indices are i64.
  /// y (n, inner) = rows indices (n) of x (rows, inner). Returns the first place of an index outside, or -1.
  virtual std::int64_t gather_rows(const Tensor& x, const Tensor& indices, const Tensor& y) = 0;
  /// Row indices[i] of out (rows, inner) += row i of values (n, inner), in the order of i; f32 or bf16. Returns as
  /// gather_rows; what is outside is left out, and where the index is no_row nobody is told.
  virtual std::int64_t scatter_add_rows(const Tensor& values, const Tensor& indices, const Tensor& out) = 0;

  // Losses, cpu/cross_entropy.cpp.
  /// Of each row: logits and y (rows, n).
  virtual void softmax(const Tensor& logits, const Tensor& y) = 0;
  /// dx = y * (dy - sum(dy * y)) by row.
  virtual void softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) = 0;
  /// The logarithm of the softmax of each row: logits and y (rows, n).
  virtual void log_softmax(const Tensor& logits, const Tensor& y) = 0;
  /// dx = dy - exp(y) * sum(dy) by row.
  virtual void log_softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) = 0;
  /// loss (rows) and probabilities (rows, n) from logits (rows, n) and i64 labels (rows). Returns the first row whose
  /// label is outside [0, n), or -1.
  virtual std::int64_t sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels, const Tensor& loss,
                                                    const Tensor& probabilities) = 0;
  /// dx = dloss (rows) * (probabilities - one_hot(labels)).
  virtual void sparse_softmax_cross_entropy_gradient(const Tensor& probabilities, const Tensor& labels,
                                                     const Tensor& dloss, const Tensor& dx) = 0;
  ///@{
  /// Binary cross-entropy by element of logits or of probabilities, and its gradient with respect to x.
  virtual void binary_cross_entropy(bool from_logits, const Tensor& x, const Tensor& targets, const Tensor& loss) = 0;
  virtual void binary_cross_entropy_gradient(bool from_logits, const Tensor& x, const Tensor& targets,
                                             const Tensor& dloss, const Tensor& dx) = 0;
  ///@}

  ///@{
  /// Convolution, cpu/conv2d.cpp, real, in as many groups as the kernel's third axis fits into x's channels: y from x
  /// (n, h, w, c_in), dx from dy, dkernel and dbias from both. bias and dbias may be undefined; the activation is one
  /// that is_fusable (ops/fused_activation.h). What is in dx is replaced or added to.
  virtual void conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window,
                      Activation activation, const Tensor& y) = 0;
  virtual void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write,
                                 const Tensor& dx) = 0;
  virtual void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel,
                                      const Tensor& dbias) = 0;
  ///@}

  ///@{
  /// Matrix products, cpu/dense.cpp, real, and the kernel of x's dtype: y (n, out) from x (n, in) and kernel (in, out),
  /// and the gradients from dy. bias and dbias may be undefined; the activation is one that is_fusable. What is in dx
  /// is replaced or added to.
  virtual void dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation,
                     const Tensor& y) = 0;
  virtual void dense_gradient_x(const Tensor& dy, const Tensor& kernel, Write write, const Tensor& dx) = 0;
  virtual void dense_gradient_kernel(const Tensor& x, const Tensor& dy, const Tensor& dkernel, const Tensor& dbias) = 0;
  ///@}

  // Batch normalization over rows of channels, cpu/batch_norm.cpp. Real.
  /// mean and variance (c) of the rows of x; the variance is divided by their number.
  virtual void channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) = 0;
  /// y (rows) = [relu](gamma * (x - mean) / sqrt(variance + epsilon) + beta).
  virtual void batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                          const Tensor& variance, float epsilon, bool relu, const Tensor& y) = 0;
  /// Mean and variance of the rows of several parts: each of `parts` (m, 2 c + 1) holds a mean, a variance and a number
  /// of rows.
  virtual void merge_moments(const Tensor& parts, const Tensor& mean, const Tensor& variance) = 0;
  /// dgamma and dbeta from dy (rows).
  virtual void batch_norm_gradient_sums(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                        const Tensor& variance, float epsilon, bool relu, const Tensor& dy,
                                        const Tensor& dgamma, const Tensor& dbeta) = 0;
  /// dx from dy (rows); dx may be x itself. `count`: the number of rows that mean and variance, and dgamma and dbeta,
  /// are of; 0 when they do not depend on x: then dgamma and dbeta are not read.
  virtual void batch_norm_gradient_x(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                     const Tensor& variance, float epsilon, bool relu, const Tensor& dy,
                                     const Tensor& dgamma, const Tensor& dbeta, std::int64_t count,
                                     const Tensor& dx) = 0;

  ///@{
  /// Layer normalization of rows (n, features), cpu/layer_norm.cpp; mean and inverse, 1 / sqrt(variance + epsilon),
  /// (n).
  virtual void layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon, const Tensor& y,
                          const Tensor& mean, const Tensor& inverse) = 0;
  virtual void layer_norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& inverse,
                                   const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta) = 0;
  ///@}

  ///@{
  /// Pooling of x (n, h, w, c), cpu/pool2d.cpp, real, as ops/pool2d.h says. y and dy are rows. places: undefined, or of
  /// y's shape, dense, u8 or i32: where in its window, of the elements inside the image in row-major order, y was
  /// found.
  virtual void max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y, const Tensor& places) = 0;
  virtual void max_pool2d_gradient(const Tensor& places, const Window2d& window, const Tensor& dy,
                                   const Tensor& dx) = 0;
  virtual void average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) = 0;
  virtual void average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) = 0;
  ///@}

  /// What runs recurrent layers over all their steps at once; null where the ops take a step at a time.
  virtual WholeRecurrence* whole_recurrence() { return nullptr; }

  // One time step of an LSTM, cpu/lstm.cpp. gates, recurrent and dsums are (n, 4 units), the gates i, f, c, o side by
  // side; the others (n, units).
  /// `gates` holds the inputs' part of the gates' sums, to which `recurrent` is added, and then the gates themselves.
  virtual void lstm_step(const Tensor& gates, const Tensor& recurrent, const Tensor& c_before, const Tensor& c,
                         const Tensor& h) = 0;
  /// dsums from dh and dc; dc becomes the gradient of c_before.
  virtual void lstm_step_gradient(const Tensor& gates, const Tensor& c_before, const Tensor& c, const Tensor& dh,
                                  const Tensor& dc, const Tensor& dsums) = 0;

  // One time step of a GRU, cpu/gru.cpp. gates, recurrent, dgates and drecurrent are (n, 3 units), the gates z, r, h
  // side by side; the others (n, units).
  /// `gates` holds the inputs' part of the gates' sums, `recurrent` the state's, and then `gates` the gates themselves
  /// and `state_sum` the state's part of the candidate's.
  virtual void gru_step(const Tensor& gates, const Tensor& recurrent, const Tensor& h_before, const Tensor& state_sum,
                        const Tensor& h) = 0;
  /// The gradients of the inputs' and the state's part of the gates' sums from dh, which becomes the gradient of
  /// h_before but for what reaches it through drecurrent.
  virtual void gru_step_gradient(const Tensor& gates, const Tensor& state_sum, const Tensor& h_before, const Tensor& dh,
                                 const Tensor& dgates, const Tensor& drecurrent) = 0;

  // Flat memory, cpu/update.cpp.
  ///@{
  /// As ReduceViews says. Throw InvalidArgument for a mean of integers.
  virtual void reduce(ReduceOp op, const ReduceViews<float>& views) = 0;
  virtual void reduce(ReduceOp op, const ReduceViews<bfloat16>& views) = 0;
  virtual void reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) = 0;
  virtual void reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) = 0;
  ///@}
  /// Sums the replicas' gradients and applies the step to every copy of the parameters, in one pass.
  virtual void update(const OptimizerStep& step, const UpdateViews& views) = 0;
  /// Sum of squares, in f64; `count` alone decides the order of addition.
  virtual double squared_norm(const float* x, std::int64_t count) = 0;
};

/// The op table of a kind of device. Throws Unsupported naming the kind when this build has none.
Backend& backend(DeviceKind kind);
/// The op table for the calling thread's device.
Backend& current_backend();

/// Puts another op table for GPUs in place of this build's, for tests on machines without a GPU. Not while ops run.
class GpuBackendScope {
 public:
  /// Until the scope ends.
  explicit GpuBackendScope(Backend& backend);
  ~GpuBackendScope();
  GpuBackendScope(const GpuBackendScope&) = delete;
  GpuBackendScope& operator=(const GpuBackendScope&) = delete;
};

}  // namespace lockstep
