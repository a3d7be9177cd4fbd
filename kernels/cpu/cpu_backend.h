#pragma once

#include <lockstep/kernels/backend.h>

namespace lockstep {

/// The op table of the CPU. Each family has its own source file in this folder; what runs in parallel does so on the
/// calling thread's share of the cores.
class CpuBackend final : public Backend {
 public:
  // elementwise.cpp
  void unary(const UnaryFunction& f, const Tensor& x, const Tensor& y) override;
  void unary_gradient(const UnaryFunction& f, const Tensor& kept, const Tensor& dy, const Tensor& dx) override;
  void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) override;
  void affine(const Tensor& x, float scale, float shift, const Tensor& y) override;
  void accumulate(const Tensor& x, int sign, const Tensor& out) override;
  void convert(const Tensor& x, const Tensor& y) override;
  void fill(const Tensor& x, float value) override;
  void moving_average(const Tensor& average, const Tensor& value, float momentum) override;

  // dropout.cpp
  void dropout(const Tensor& x, float rate, const RandomKey& key, const Tensor& y) override;

  // reduction.cpp
  void sum_middle(const Tensor& x, const Tensor& y) override;
  void argmax(const Tensor& x, const Tensor& y) override;

  // sort.cpp
  void sort_middle(const Tensor& x, SortDirection direction, const Tensor& values, const Tensor& indices) override;
  void sort_middle_gradient(const Tensor& dy, const Tensor& indices, const Tensor& dx) override;

  // scan.cpp
  void cumulative_sum(const Tensor& x, bool exclusive, bool reverse, const Tensor& y) override;

  // rows.cpp
  std::int64_t gather_rows(const Tensor& x, const Tensor& indices, const Tensor& y) override;
  std::int64_t scatter_add_rows(const Tensor& values, const Tensor& indices, const Tensor& out) override;

  // cross_entropy.cpp
  void softmax(const Tensor& logits, const Tensor& y) override;
  void softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) override;
  void log_softmax(const Tensor& logits, const Tensor& y) override;
  void log_softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) override;
  std::int64_t sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels, const Tensor& loss,
                                            const Tensor& probabilities) override;
  void sparse_softmax_cross_entropy_gradient(const Tensor& probabilities, const Tensor& labels, const Tensor& dloss,
                                             const Tensor& dx) override;
  void binary_cross_entropy(bool from_logits, const Tensor& x, const Tensor& targets, const Tensor& loss) override;
  void binary_cross_entropy_gradient(bool from_logits, const Tensor& x, const Tensor& targets, const Tensor& dloss,
                                     const Tensor& dx) override;

  // conv2d.cpp
  void conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window, Activation activation,
              const Tensor& y) override;
  void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write,
                         const Tensor& dx) override;
  void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel,
                              const Tensor& dbias) override;

  // dense.cpp
  void dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation,
             const Tensor& y) override;
  void dense_gradient_x(const Tensor& dy, const Tensor& kernel, Write write, const Tensor& dx) override;
  void dense_gradient_kernel(const Tensor& x, const Tensor& dy, const Tensor& dkernel, const Tensor& dbias) override;

  // batch_norm.cpp
  void channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) override;
  void batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean, const Tensor& variance,
                  float epsilon, bool relu, const Tensor& y) override;
  void merge_moments(const Tensor& parts, const Tensor& mean, const Tensor& variance) override;
  void batch_norm_gradient_sums(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                const Tensor& variance, float epsilon, bool relu, const Tensor& dy,
                                const Tensor& dgamma, const Tensor& dbeta) override;
  void batch_norm_gradient_x(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                             const Tensor& variance, float epsilon, bool relu, const Tensor& dy, const Tensor& dgamma,
                             const Tensor& dbeta, std::int64_t count, const Tensor& dx) override;

  // layer_norm.cpp
  void layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon, const Tensor& y,
                  const Tensor& mean, const Tensor& inverse) override;
  void layer_norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& inverse,
                           const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta) override;

  // norm_limits.cpp
  void limit_norms(const Tensor& x, int first, const NormLimits& limits) override;

  // pool2d.cpp
  void max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y, const Tensor& places) override;
  void max_pool2d_gradient(const Tensor& places, const Window2d& window, const Tensor& dy, const Tensor& dx) override;
  void average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) override;
  void average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) override;

  // lstm.cpp
  void lstm_step(const Tensor& gates, const Tensor& recurrent, const Tensor& c_before, const Tensor& c,
                 const Tensor& h) override;
  void lstm_step_gradient(const Tensor& gates, const Tensor& c_before, const Tensor& c, const Tensor& dh,
                          const Tensor& dc, const Tensor& dsums) override;

  // gru.cpp
  void gru_step(const Tensor& gates, const Tensor& recurrent, const Tensor& h_before, const Tensor& state_sum,
                const Tensor& h) override;
  void gru_step_gradient(const Tensor& gates, const Tensor& state_sum, const Tensor& h_before, const Tensor& dh,
                         const Tensor& dgates, const Tensor& drecurrent) override;

  // update.cpp
  void reduce(ReduceOp op, const ReduceViews<float>& views) override;
  void reduce(ReduceOp op, const ReduceViews<bfloat16>& views) override;
  void reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) override;
  void reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) override;
  void update(const OptimizerStep& step, const UpdateViews& views) override;
  double squared_norm(const float* x, std::int64_t count) override;
};

}  // namespace lockstep
