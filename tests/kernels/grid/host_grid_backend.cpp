#include "host_grid_backend.h"

#include <lockstep/kernels/grid/batch_norm.h>
#include <lockstep/kernels/grid/convert.h>
#include <lockstep/kernels/grid/cross_entropy.h>
#include <lockstep/kernels/grid/elementwise.h>
#include <lockstep/kernels/grid/layer_norm.h>
#include <lockstep/kernels/grid/moments.h>
#include <lockstep/kernels/grid/norm_limits.h>
#include <lockstep/kernels/grid/pool2d.h>
#include <lockstep/kernels/grid/recurrence.h>
#include <lockstep/kernels/grid/reduction.h>
#include <lockstep/kernels/grid/rows.h>
#include <lockstep/kernels/grid/scan.h>
#include <lockstep/kernels/grid/sort.h>
#include <lockstep/kernels/grid/update.h>

#include "host_executor.h"

namespace lockstep::test {
namespace {

[[noreturn]] void not_of_grid() { fail<Unsupported>("convolutions and matrix products are not in kernels/grid"); }

}  // namespace

void HostGridBackend::unary(const UnaryFunction& f, const Tensor& x, const Tensor& y) {
  HostExecutor on;
  grid::unary(on, f, x, y);
}

void HostGridBackend::unary_gradient(const UnaryFunction& f, const Tensor& kept, const Tensor& dy, const Tensor& dx) {
  HostExecutor on;
  grid::unary_gradient(on, f, kept, dy, dx);
}

void HostGridBackend::binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  HostExecutor on;
  grid::binary(on, op, a, b, out);
}

void HostGridBackend::affine(const Tensor& x, float scale, float shift, const Tensor& y) {
  HostExecutor on;
  grid::affine(on, x, scale, shift, y);
}

void HostGridBackend::accumulate(const Tensor& x, int sign, const Tensor& out) {
  HostExecutor on;
  grid::accumulate(on, x, sign, out);
}

void HostGridBackend::convert(const Tensor& x, const Tensor& y) {
  HostExecutor on;
  grid::convert(on, x, y);
}

void HostGridBackend::fill(const Tensor& x, float value) {
  HostExecutor on;
  grid::fill(on, x, value);
}

void HostGridBackend::moving_average(const Tensor& average, const Tensor& value, float momentum) {
  HostExecutor on;
  grid::moving_average(on, average, value, momentum);
}

void HostGridBackend::dropout(const Tensor& x, float rate, const RandomKey& key, const Tensor& y) {
  HostExecutor on;
  grid::dropout(on, x, rate, key, y);
}

void HostGridBackend::sum_middle(const Tensor& x, const Tensor& y) {
  HostExecutor on;
  grid::sum_middle(on, x, y);
}

void HostGridBackend::argmax(const Tensor& x, const Tensor& y) {
  HostExecutor on;
  grid::argmax(on, x, y);
}

void HostGridBackend::sort_middle(const Tensor& x, SortDirection direction, const Tensor& values,
                                  const Tensor& indices) {
  HostExecutor on;
  grid::sort_middle(on, x, direction, values, indices);
}

void HostGridBackend::sort_middle_gradient(const Tensor& dy, const Tensor& indices, const Tensor& dx) {
  HostExecutor on;
  grid::sort_middle_gradient(on, dy, indices, dx);
}

void HostGridBackend::cumulative_sum(const Tensor& x, bool exclusive, bool reverse, const Tensor& y) {
  HostExecutor on;
  grid::cumulative_sum(on, x, exclusive, reverse, y);
}

void HostGridBackend::limit_norms(const Tensor& x, int first, const NormLimits& limits) {
  HostExecutor on;
  grid::limit_norms(on, x, first, limits);
}

std::int64_t HostGridBackend::gather_rows(const Tensor& x, const Tensor& indices, const Tensor& y) {
  HostExecutor on;
  return grid::gather_rows(on, x, indices, y);
}

std::int64_t HostGridBackend::scatter_add_rows(const Tensor& values, const Tensor& indices, const Tensor& out) {
  HostExecutor on;
  return grid::scatter_add_rows(on, values, indices, out);
}

void HostGridBackend::softmax(const Tensor& logits, const Tensor& y) {
  HostExecutor on;
  grid::softmax(on, logits, y);
}

void HostGridBackend::softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  HostExecutor on;
  grid::softmax_gradient(on, y, dy, dx);
}

void HostGridBackend::log_softmax(const Tensor& logits, const Tensor& y) {
  HostExecutor on;
  grid::log_softmax(on, logits, y);
}

void HostGridBackend::log_softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  HostExecutor on;
  grid::log_softmax_gradient(on, y, dy, dx);
}

std::int64_t HostGridBackend::sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels,
                                                           const Tensor& loss, const Tensor& probabilities) {
  HostExecutor on;
  return grid::sparse_softmax_cross_entropy(on, logits, labels, loss, probabilities);
}

void HostGridBackend::sparse_softmax_cross_entropy_gradient(const Tensor& probabilities, const Tensor& labels,
                                                            const Tensor& dloss, const Tensor& dx) {
  HostExecutor on;
  grid::sparse_softmax_cross_entropy_gradient(on, probabilities, labels, dloss, dx);
}

void HostGridBackend::binary_cross_entropy(bool from_logits, const Tensor& x, const Tensor& targets,
                                           const Tensor& loss) {
  HostExecutor on;
  grid::binary_cross_entropy(on, from_logits, x, targets, loss);
}

void HostGridBackend::binary_cross_entropy_gradient(bool from_logits, const Tensor& x, const Tensor& targets,
                                                    const Tensor& dloss, const Tensor& dx) {
  HostExecutor on;
  grid::binary_cross_entropy_gradient(on, from_logits, x, targets, dloss, dx);
}

void HostGridBackend::conv2d(const Tensor&, const Tensor&, const Tensor&, const Window2d&, Activation, const Tensor&) {
  not_of_grid();
}
void HostGridBackend::conv2d_gradient_x(const Tensor&, const Tensor&, const Window2d&, Write, const Tensor&) {
  not_of_grid();
}
void HostGridBackend::conv2d_gradient_kernel(const Tensor&, const Tensor&, const Window2d&, const Tensor&,
                                             const Tensor&) {
  not_of_grid();
}
void HostGridBackend::dense(const Tensor&, const Tensor&, const Tensor&, Activation, const Tensor&) { not_of_grid(); }
void HostGridBackend::dense_gradient_x(const Tensor&, const Tensor&, Write, const Tensor&) { not_of_grid(); }
void HostGridBackend::dense_gradient_kernel(const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  not_of_grid();
}
void HostGridBackend::channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) {
  HostExecutor on;
  grid::channel_moments(on, x, mean, variance);
}

void HostGridBackend::batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                 const Tensor& variance, float epsilon, bool relu, const Tensor& y) {
  HostExecutor on;
  grid::batch_norm(on, x, gamma, beta, mean, variance, epsilon, relu, y);
}

void HostGridBackend::merge_moments(const Tensor& parts, const Tensor& mean, const Tensor& variance) {
  HostExecutor on;
  grid::merge_moments(on, parts, mean, variance);
}

void HostGridBackend::batch_norm_gradient_sums(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                               const Tensor& mean, const Tensor& variance, float epsilon, bool relu,
                                               const Tensor& dy, const Tensor& dgamma, const Tensor& dbeta) {
  HostExecutor on;
  grid::batch_norm_gradient_sums(on, x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta);
}

void HostGridBackend::batch_norm_gradient_x(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                            const Tensor& mean, const Tensor& variance, float epsilon, bool relu,
                                            const Tensor& dy, const Tensor& dgamma, const Tensor& dbeta,
                                            std::int64_t count, const Tensor& dx) {
  HostExecutor on;
  grid::batch_norm_gradient_x(on, x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta, count, dx);
}

void HostGridBackend::layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon,
                                 const Tensor& y, const Tensor& mean, const Tensor& inverse) {
  HostExecutor on;
  grid::layer_norm(on, x, gamma, beta, epsilon, y, mean, inverse);
}

void HostGridBackend::layer_norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& mean,
                                          const Tensor& inverse, const Tensor& dy, const Tensor& dx,
                                          const Tensor& dgamma, const Tensor& dbeta) {
  HostExecutor on;
  grid::layer_norm_gradient(on, x, gamma, mean, inverse, dy, dx, dgamma, dbeta);
}

void HostGridBackend::max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y, const Tensor& places) {
  HostExecutor on;
  grid::max_pool2d(on, x, window, y, places);
}

void HostGridBackend::max_pool2d_gradient(const Tensor& places, const Window2d& window, const Tensor& dy,
                                          const Tensor& dx) {
  HostExecutor on;
  grid::max_pool2d_gradient(on, places, window, dy, dx);
}

void HostGridBackend::average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) {
  HostExecutor on;
  grid::average_pool2d(on, x, window, y);
}

void HostGridBackend::average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) {
  HostExecutor on;
  grid::average_pool2d_gradient(on, dy, window, dx);
}

void HostGridBackend::lstm_step(const Tensor& gates, const Tensor& recurrent, const Tensor& c_before, const Tensor& c,
                                const Tensor& h) {
  HostExecutor on;
  grid::lstm_step(on, gates, recurrent, c_before, c, h);
}

void HostGridBackend::lstm_step_gradient(const Tensor& gates, const Tensor& c_before, const Tensor& c, const Tensor& dh,
                                         const Tensor& dc, const Tensor& dsums) {
  HostExecutor on;
  grid::lstm_step_gradient(on, gates, c_before, c, dh, dc, dsums);
}

void HostGridBackend::gru_step(const Tensor& gates, const Tensor& recurrent, const Tensor& h_before,
                               const Tensor& state_sum, const Tensor& h) {
  HostExecutor on;
  grid::gru_step(on, gates, recurrent, h_before, state_sum, h);
}

void HostGridBackend::gru_step_gradient(const Tensor& gates, const Tensor& state_sum, const Tensor& h_before,
                                        const Tensor& dh, const Tensor& dgates, const Tensor& drecurrent) {
  HostExecutor on;
  grid::gru_step_gradient(on, gates, state_sum, h_before, dh, dgates, drecurrent);
}

void HostGridBackend::reduce(ReduceOp op, const ReduceViews<float>& views) {
  HostExecutor on;
  grid::reduce(on, op, views);
}

void HostGridBackend::reduce(ReduceOp op, const ReduceViews<bfloat16>& views) {
  HostExecutor on;
  grid::reduce(on, op, views);
}

void HostGridBackend::reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) {
  HostExecutor on;
  grid::reduce(on, op, views);
}

void HostGridBackend::reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) {
  HostExecutor on;
  grid::reduce(on, op, views);
}

void HostGridBackend::update(const OptimizerStep& step, const UpdateViews& views) {
  HostExecutor on;
  grid::update(on, step, views);
}

double HostGridBackend::squared_norm(const float* x, std::int64_t count) {
  HostExecutor on;
  return grid::squared_norm(on, x, count);
}

}  // namespace lockstep::test
