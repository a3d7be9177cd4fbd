#include "lockstep/kernels/checked_backend.h"

#include <span>
#include <vector>

#include <lockstep/runtime/memory/contracts.h>

namespace lockstep {
namespace {

using contracts::Reach;
using contracts::Use;

template <class T>
Use use_of(const T* memory, std::int64_t count) {
  return {memory, static_cast<std::size_t>(count) * sizeof(T), alignof(T)};
}

/// Of the elements, from the first to the last in memory; strides are not negative.
Use use_of(const Tensor& tensor) {
  if (!tensor.defined() || tensor.elements() == 0) return {};
  std::int64_t last = 0;
  for (int axis = 0; axis < tensor.rank(); ++axis) last += (tensor.shape()[axis] - 1) * tensor.strides()[axis];
  const std::size_t size = size_of(tensor.dtype());
  return {tensor.raw_data(), static_cast<std::size_t>(last + 1) * size, size};
}

void check_uses(const char* op, std::span<const Use> uses, Reach reach) {
  contracts::check(op, current_context().device, GpuQueue::compute, uses, reach);
}

template <class... Tensors>
void check(const char* op, const Tensors&... tensors) {
  const Use uses[] = {use_of(tensors)...};
  check_uses(op, uses, Reach::own);
}

template <class T>
void add_uses(std::vector<Use>& uses, std::span<T* const> pointers, std::int64_t count) {
  for (const T* const pointer : pointers) uses.push_back(use_of(pointer, count));
}

template <class T>
void check(const char* op, const ReduceViews<T>& views) {
  std::vector<Use> uses;
  add_uses(uses, views.in, views.count);
  add_uses(uses, views.out, views.count);
  check_uses(op, uses, Reach::all);
}

void check(const char* op, const UpdateViews& views) {
  std::vector<Use> uses;
  add_uses(uses, views.gradients, views.count);
  add_uses(uses, views.parameters, views.count);
  add_uses(uses, views.state, views.count);
  check_uses(op, uses, Reach::all);
}

}  // namespace

void CheckedBackend::unary(const UnaryFunction& f, const Tensor& x, const Tensor& y) {
  check("unary", x, y);
  inner().unary(f, x, y);
}

void CheckedBackend::unary_gradient(const UnaryFunction& f, const Tensor& kept, const Tensor& dy, const Tensor& dx) {
  check("unary_gradient", kept, dy, dx);
  inner().unary_gradient(f, kept, dy, dx);
}

void CheckedBackend::binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  check("binary", a, b, out);
  inner().binary(op, a, b, out);
}

void CheckedBackend::affine(const Tensor& x, float scale, float shift, const Tensor& y) {
  check("affine", x, y);
  inner().affine(x, scale, shift, y);
}

void CheckedBackend::accumulate(const Tensor& x, int sign, const Tensor& out) {
  check("accumulate", x, out);
  inner().accumulate(x, sign, out);
}

void CheckedBackend::convert(const Tensor& x, const Tensor& y) {
  const Use from[] = {use_of(x)};  // where replicas gather values, they read each other's
  check_uses("convert", from, Reach::all);
  check("convert", y);
  inner().convert(x, y);
}

void CheckedBackend::fill(const Tensor& x, float value) {
  check("fill", x);
  inner().fill(x, value);
}

void CheckedBackend::moving_average(const Tensor& average, const Tensor& value, float momentum) {
  const Use moved[] = {use_of(average)};  // where replicas share averages, each moves a part that may lie with another
  check_uses("moving_average", moved, Reach::all);
  check("moving_average", value);
  inner().moving_average(average, value, momentum);
}

void CheckedBackend::dropout(const Tensor& x, float rate, const RandomKey& key, const Tensor& y) {
  check("dropout", x, y);
  inner().dropout(x, rate, key, y);
}

void CheckedBackend::sum_middle(const Tensor& x, const Tensor& y) {
  check("sum_middle", x, y);
  inner().sum_middle(x, y);
}

void CheckedBackend::argmax(const Tensor& x, const Tensor& y) {
  check("argmax", x, y);
  inner().argmax(x, y);
}

void CheckedBackend::sort_middle(const Tensor& x, SortDirection direction, const Tensor& values,
                                 const Tensor& indices) {
  check("sort_middle", x, values, indices);
  inner().sort_middle(x, direction, values, indices);
}

void CheckedBackend::sort_middle_gradient(const Tensor& dy, const Tensor& indices, const Tensor& dx) {
  check("sort_middle_gradient", dy, indices, dx);
  inner().sort_middle_gradient(dy, indices, dx);
}

void CheckedBackend::cumulative_sum(const Tensor& x, bool exclusive, bool reverse, const Tensor& y) {
  check("cumulative_sum", x, y);
  inner().cumulative_sum(x, exclusive, reverse, y);
}

void CheckedBackend::limit_norms(const Tensor& x, int first, const NormLimits& limits) {
  check("limit_norms", x);
  inner().limit_norms(x, first, limits);
}

std::int64_t CheckedBackend::gather_rows(const Tensor& x, const Tensor& indices, const Tensor& y) {
  check("gather_rows", x, indices, y);
  return inner().gather_rows(x, indices, y);
}

std::int64_t CheckedBackend::scatter_add_rows(const Tensor& values, const Tensor& indices, const Tensor& out) {
  check("scatter_add_rows", values, indices, out);
  return inner().scatter_add_rows(values, indices, out);
}

void CheckedBackend::softmax(const Tensor& logits, const Tensor& y) {
  check("softmax", logits, y);
  inner().softmax(logits, y);
}

void CheckedBackend::softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  check("softmax_gradient", y, dy, dx);
  inner().softmax_gradient(y, dy, dx);
}

void CheckedBackend::log_softmax(const Tensor& logits, const Tensor& y) {
  check("log_softmax", logits, y);
  inner().log_softmax(logits, y);
}

void CheckedBackend::log_softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  check("log_softmax_gradient", y, dy, dx);
  inner().log_softmax_gradient(y, dy, dx);
}

std::int64_t CheckedBackend::sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels,
                                                          const Tensor& loss, const Tensor& probabilities) {
  check("sparse_softmax_cross_entropy", logits, labels, loss, probabilities);
  return inner().sparse_softmax_cross_entropy(logits, labels, loss, probabilities);
}

void CheckedBackend::sparse_softmax_cross_entropy_gradient(const Tensor& probabilities, const Tensor& labels,
                                                           const Tensor& dloss, const Tensor& dx) {
  check("sparse_softmax_cross_entropy_gradient", probabilities, labels, dloss, dx);
  inner().sparse_softmax_cross_entropy_gradient(probabilities, labels, dloss, dx);
}

void CheckedBackend::binary_cross_entropy(bool from_logits, const Tensor& x, const Tensor& targets,
                                          const Tensor& loss) {
  check("binary_cross_entropy", x, targets, loss);
  inner().binary_cross_entropy(from_logits, x, targets, loss);
}

void CheckedBackend::binary_cross_entropy_gradient(bool from_logits, const Tensor& x, const Tensor& targets,
                                                   const Tensor& dloss, const Tensor& dx) {
  check("binary_cross_entropy_gradient", x, targets, dloss, dx);
  inner().binary_cross_entropy_gradient(from_logits, x, targets, dloss, dx);
}

void CheckedBackend::conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window,
                            Activation activation, const Tensor& y) {
  check("conv2d", x, kernel, bias, y);
  inner().conv2d(x, kernel, bias, window, activation, y);
}

void CheckedBackend::conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write,
                                       const Tensor& dx) {
  check("conv2d_gradient_x", dy, kernel, dx);
  inner().conv2d_gradient_x(dy, kernel, window, write, dx);
}

void CheckedBackend::conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window,
                                            const Tensor& dkernel, const Tensor& dbias) {
  check("conv2d_gradient_kernel", x, dy, dkernel, dbias);
  inner().conv2d_gradient_kernel(x, dy, window, dkernel, dbias);
}

void CheckedBackend::dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation,
                           const Tensor& y) {
  check("dense", x, kernel, bias, y);
  inner().dense(x, kernel, bias, activation, y);
}

void CheckedBackend::dense_gradient_x(const Tensor& dy, const Tensor& kernel, Write write, const Tensor& dx) {
  check("dense_gradient_x", dy, kernel, dx);
  inner().dense_gradient_x(dy, kernel, write, dx);
}

void CheckedBackend::dense_gradient_kernel(const Tensor& x, const Tensor& dy, const Tensor& dkernel,
                                           const Tensor& dbias) {
  check("dense_gradient_kernel", x, dy, dkernel, dbias);
  inner().dense_gradient_kernel(x, dy, dkernel, dbias);
}

void CheckedBackend::channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) {
  check("channel_moments", x, mean, variance);
  inner().channel_moments(x, mean, variance);
}

void CheckedBackend::batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                const Tensor& variance, float epsilon, bool relu, const Tensor& y) {
  check("batch_norm", x, gamma, beta, mean, variance, y);
  inner().batch_norm(x, gamma, beta, mean, variance, epsilon, relu, y);
}

void CheckedBackend::merge_moments(const Tensor& parts, const Tensor& mean, const Tensor& variance) {
  check("merge_moments", parts, mean, variance);
  inner().merge_moments(parts, mean, variance);
}

void CheckedBackend::batch_norm_gradient_sums(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                              const Tensor& mean, const Tensor& variance, float epsilon, bool relu,
                                              const Tensor& dy, const Tensor& dgamma, const Tensor& dbeta) {
  check("batch_norm_gradient_sums", x, gamma, beta, mean, variance, dy, dgamma, dbeta);
  inner().batch_norm_gradient_sums(x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta);
}

void CheckedBackend::batch_norm_gradient_x(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                           const Tensor& variance, float epsilon, bool relu, const Tensor& dy,
                                           const Tensor& dgamma, const Tensor& dbeta, std::int64_t count,
                                           const Tensor& dx) {
  check("batch_norm_gradient_x", x, gamma, beta, mean, variance, dy, dgamma, dbeta, dx);
  inner().batch_norm_gradient_x(x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta, count, dx);
}

void CheckedBackend::layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon,
                                const Tensor& y, const Tensor& mean, const Tensor& inverse) {
  check("layer_norm", x, gamma, beta, y, mean, inverse);
  inner().layer_norm(x, gamma, beta, epsilon, y, mean, inverse);
}

void CheckedBackend::layer_norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& mean,
                                         const Tensor& inverse, const Tensor& dy, const Tensor& dx,
                                         const Tensor& dgamma, const Tensor& dbeta) {
  check("layer_norm_gradient", x, gamma, mean, inverse, dy, dx, dgamma, dbeta);
  inner().layer_norm_gradient(x, gamma, mean, inverse, dy, dx, dgamma, dbeta);
}

void CheckedBackend::max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y, const Tensor& places) {
  check("max_pool2d", x, y, places);
  inner().max_pool2d(x, window, y, places);
}

void CheckedBackend::max_pool2d_gradient(const Tensor& places, const Window2d& window, const Tensor& dy,
                                         const Tensor& dx) {
  check("max_pool2d_gradient", places, dy, dx);
  inner().max_pool2d_gradient(places, window, dy, dx);
}

void CheckedBackend::average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) {
  check("average_pool2d", x, y);
  inner().average_pool2d(x, window, y);
}

void CheckedBackend::average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) {
  check("average_pool2d_gradient", dy, dx);
  inner().average_pool2d_gradient(dy, window, dx);
}

void CheckedBackend::lstm_step(const Tensor& gates, const Tensor& recurrent, const Tensor& c_before, const Tensor& c,
                               const Tensor& h) {
  check("lstm_step", gates, recurrent, c_before, c, h);
  inner().lstm_step(gates, recurrent, c_before, c, h);
}

void CheckedBackend::lstm_step_gradient(const Tensor& gates, const Tensor& c_before, const Tensor& c, const Tensor& dh,
                                        const Tensor& dc, const Tensor& dsums) {
  check("lstm_step_gradient", gates, c_before, c, dh, dc, dsums);
  inner().lstm_step_gradient(gates, c_before, c, dh, dc, dsums);
}

void CheckedBackend::gru_step(const Tensor& gates, const Tensor& recurrent, const Tensor& h_before,
                              const Tensor& state_sum, const Tensor& h) {
  check("gru_step", gates, recurrent, h_before, state_sum, h);
  inner().gru_step(gates, recurrent, h_before, state_sum, h);
}

void CheckedBackend::gru_step_gradient(const Tensor& gates, const Tensor& state_sum, const Tensor& h_before,
                                       const Tensor& dh, const Tensor& dgates, const Tensor& drecurrent) {
  check("gru_step_gradient", gates, state_sum, h_before, dh, dgates, drecurrent);
  inner().gru_step_gradient(gates, state_sum, h_before, dh, dgates, drecurrent);
}

void CheckedBackend::reduce(ReduceOp op, const ReduceViews<float>& views) {
  check("reduce", views);
  inner().reduce(op, views);
}

void CheckedBackend::reduce(ReduceOp op, const ReduceViews<bfloat16>& views) {
  check("reduce", views);
  inner().reduce(op, views);
}

void CheckedBackend::reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) {
  check("reduce", views);
  inner().reduce(op, views);
}

void CheckedBackend::reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) {
  check("reduce", views);
  inner().reduce(op, views);
}

void CheckedBackend::update(const OptimizerStep& step, const UpdateViews& views) {
  check("update", views);
  inner().update(step, views);
}

double CheckedBackend::squared_norm(const float* x, std::int64_t count) {
  const Use uses[] = {use_of(x, count)};
  check_uses("squared_norm", uses, Reach::all);
  return inner().squared_norm(x, count);
}

WholeRecurrence* CheckedBackend::whole_recurrence() { return inner().whole_recurrence() != nullptr ? this : nullptr; }

bool CheckedBackend::runs(const RecurrentLayer& layer) const { return inner().whole_recurrence()->runs(layer); }

Tensor CheckedBackend::run(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                           const Tensor& y) {
  check("a recurrent layer", x, weights.kernel, weights.recurrent_kernel, weights.bias, y);
  return inner().whole_recurrence()->run(layer, x, weights, keep, y);
}

void CheckedBackend::gradient(const Ran& ran, const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights) {
  check("a recurrent layer's gradient", ran.x, ran.weights.kernel, ran.weights.recurrent_kernel, ran.weights.bias,
        ran.y, ran.kept, dy, dx, dweights.kernel, dweights.recurrent_kernel, dweights.bias);
  inner().whole_recurrence()->gradient(ran, dy, dx, dweights);
}

}  // namespace lockstep
