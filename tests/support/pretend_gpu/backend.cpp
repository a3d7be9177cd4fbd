#include <support/pretend_gpu/backend.h>

namespace lockstep::test {

void PretendGpuBackend::check_address(const void* address) const {
  require<BrokenInvariant>(memory_.contains(address), "a kernel of {} is given an address of the host",
                           current_context().device.name());
}

void PretendGpuBackend::check_one(const Tensor& tensor) const {
  if (!tensor.defined() || tensor.elements() == 0) return;
  require<BrokenInvariant>(memory_.contains(tensor.raw_data()), "a kernel of {} is given {}",
                           current_context().device.name(), tensor);
}

void PretendGpuBackend::check_one(const UpdateViews& views) const {
  if (views.count == 0) return;
  for (const float* const address : views.gradients) check_address(address);
  for (const float* const address : views.parameters) check_address(address);
  for (const float* const address : views.state) check_address(address);
}

std::int64_t PretendGpuBackend::told_later(const char* op, std::int64_t place) {
  if (place >= 0) platform_.set_fault(fmt::format("{}: index number {} is outside its range", op, place));
  return -1;
}

void PretendGpuBackend::unary(const UnaryFunction& f, const Tensor& x, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, y);
  kernels_.unary(f, x, y);
}

void PretendGpuBackend::unary_gradient(const UnaryFunction& f, const Tensor& kept, const Tensor& dy, const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(kept, dy, dx);
  kernels_.unary_gradient(f, kept, dy, dx);
}

void PretendGpuBackend::binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  const DeviceMemory::Access access(memory_);
  check(a, b, out);
  kernels_.binary(op, a, b, out);
}

void PretendGpuBackend::affine(const Tensor& x, float scale, float shift, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, y);
  kernels_.affine(x, scale, shift, y);
}

void PretendGpuBackend::accumulate(const Tensor& x, int sign, const Tensor& out) {
  const DeviceMemory::Access access(memory_);
  check(x, out);
  kernels_.accumulate(x, sign, out);
}

void PretendGpuBackend::convert(const Tensor& x, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, y);
  kernels_.convert(x, y);
}

void PretendGpuBackend::fill(const Tensor& x, float value) {
  const DeviceMemory::Access access(memory_);
  check(x);
  kernels_.fill(x, value);
}

void PretendGpuBackend::moving_average(const Tensor& average, const Tensor& value, float momentum) {
  const DeviceMemory::Access access(memory_);
  check(average, value);
  kernels_.moving_average(average, value, momentum);
}

void PretendGpuBackend::dropout(const Tensor& x, float rate, const RandomKey& key, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, y);
  kernels_.dropout(x, rate, key, y);
}

void PretendGpuBackend::sum_middle(const Tensor& x, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, y);
  kernels_.sum_middle(x, y);
}

void PretendGpuBackend::argmax(const Tensor& x, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, y);
  kernels_.argmax(x, y);
}

void PretendGpuBackend::limit_norms(const Tensor& x, int first, const NormLimits& limits) {
  const DeviceMemory::Access access(memory_);
  check(x);
  kernels_.limit_norms(x, first, limits);
}

std::int64_t PretendGpuBackend::gather_rows(const Tensor& x, const Tensor& indices, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, indices, y);
  return told_later("gather_rows", kernels_.gather_rows(x, indices, y));
}

std::int64_t PretendGpuBackend::scatter_add_rows(const Tensor& values, const Tensor& indices, const Tensor& out) {
  const DeviceMemory::Access access(memory_);
  check(values, indices, out);
  return told_later("scatter_add_rows", kernels_.scatter_add_rows(values, indices, out));
}

void PretendGpuBackend::softmax(const Tensor& logits, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(logits, y);
  kernels_.softmax(logits, y);
}

void PretendGpuBackend::softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(y, dy, dx);
  kernels_.softmax_gradient(y, dy, dx);
}

void PretendGpuBackend::log_softmax(const Tensor& logits, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(logits, y);
  kernels_.log_softmax(logits, y);
}

void PretendGpuBackend::log_softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(y, dy, dx);
  kernels_.log_softmax_gradient(y, dy, dx);
}

std::int64_t PretendGpuBackend::sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels,
                                                             const Tensor& loss, const Tensor& probabilities) {
  const DeviceMemory::Access access(memory_);
  check(logits, labels, loss, probabilities);
  return told_later("sparse_softmax_cross_entropy",
                    kernels_.sparse_softmax_cross_entropy(logits, labels, loss, probabilities));
}

void PretendGpuBackend::sparse_softmax_cross_entropy_gradient(const Tensor& probabilities, const Tensor& labels,
                                                              const Tensor& dloss, const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(probabilities, labels, dloss, dx);
  kernels_.sparse_softmax_cross_entropy_gradient(probabilities, labels, dloss, dx);
}

void PretendGpuBackend::binary_cross_entropy(bool from_logits, const Tensor& x, const Tensor& targets,
                                             const Tensor& loss) {
  const DeviceMemory::Access access(memory_);
  check(x, targets, loss);
  kernels_.binary_cross_entropy(from_logits, x, targets, loss);
}

void PretendGpuBackend::binary_cross_entropy_gradient(bool from_logits, const Tensor& x, const Tensor& targets,
                                                      const Tensor& dloss, const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(x, targets, dloss, dx);
  kernels_.binary_cross_entropy_gradient(from_logits, x, targets, dloss, dx);
}

void PretendGpuBackend::conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window,
                               Activation activation, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, kernel, bias, y);
  library_.conv2d(x, kernel, bias, window, activation, y);
}

void PretendGpuBackend::conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window,
                                          const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(dy, kernel, dx);
  library_.conv2d_gradient_x(dy, kernel, window, dx);
}

void PretendGpuBackend::conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window,
                                               const Tensor& dkernel, const Tensor& dbias) {
  const DeviceMemory::Access access(memory_);
  check(x, dy, dkernel, dbias);
  library_.conv2d_gradient_kernel(x, dy, window, dkernel, dbias);
}

void PretendGpuBackend::dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation,
                              const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, kernel, bias, y);
  library_.dense(x, kernel, bias, activation, y);
}

void PretendGpuBackend::dense_gradient_x(const Tensor& dy, const Tensor& kernel, const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(dy, kernel, dx);
  library_.dense_gradient_x(dy, kernel, dx);
}

void PretendGpuBackend::dense_gradient_kernel(const Tensor& x, const Tensor& dy, const Tensor& dkernel,
                                              const Tensor& dbias) {
  const DeviceMemory::Access access(memory_);
  check(x, dy, dkernel, dbias);
  library_.dense_gradient_kernel(x, dy, dkernel, dbias);
}

void PretendGpuBackend::channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) {
  const DeviceMemory::Access access(memory_);
  check(x, mean, variance);
  kernels_.channel_moments(x, mean, variance);
}

void PretendGpuBackend::batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                   const Tensor& variance, float epsilon, bool relu, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, gamma, beta, mean, variance, y);
  kernels_.batch_norm(x, gamma, beta, mean, variance, epsilon, relu, y);
}

void PretendGpuBackend::merge_moments(const Tensor& parts, const Tensor& mean, const Tensor& variance) {
  const DeviceMemory::Access access(memory_);
  check(parts, mean, variance);
  kernels_.merge_moments(parts, mean, variance);
}

void PretendGpuBackend::batch_norm_gradient_sums(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                                 const Tensor& mean, const Tensor& variance, float epsilon, bool relu,
                                                 const Tensor& dy, const Tensor& dgamma, const Tensor& dbeta) {
  const DeviceMemory::Access access(memory_);
  check(x, gamma, beta, mean, variance, dy, dgamma, dbeta);
  kernels_.batch_norm_gradient_sums(x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta);
}

void PretendGpuBackend::batch_norm_gradient_x(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                              const Tensor& mean, const Tensor& variance, float epsilon, bool relu,
                                              const Tensor& dy, const Tensor& dgamma, const Tensor& dbeta,
                                              std::int64_t count, const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(x, gamma, beta, mean, variance, dy, dgamma, dbeta, dx);
  kernels_.batch_norm_gradient_x(x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta, count, dx);
}

void PretendGpuBackend::layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon,
                                   const Tensor& y, const Tensor& mean, const Tensor& inverse) {
  const DeviceMemory::Access access(memory_);
  check(x, gamma, beta, y, mean, inverse);
  kernels_.layer_norm(x, gamma, beta, epsilon, y, mean, inverse);
}

void PretendGpuBackend::layer_norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& mean,
                                            const Tensor& inverse, const Tensor& dy, const Tensor& dx,
                                            const Tensor& dgamma, const Tensor& dbeta) {
  const DeviceMemory::Access access(memory_);
  check(x, gamma, mean, inverse, dy, dx, dgamma, dbeta);
  kernels_.layer_norm_gradient(x, gamma, mean, inverse, dy, dx, dgamma, dbeta);
}

void PretendGpuBackend::max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y, const Tensor& places) {
  const DeviceMemory::Access access(memory_);
  check(x, y, places);
  kernels_.max_pool2d(x, window, y, places);
}

void PretendGpuBackend::max_pool2d_gradient(const Tensor& places, const Window2d& window, const Tensor& dy,
                                            const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(places, dy, dx);
  kernels_.max_pool2d_gradient(places, window, dy, dx);
}

void PretendGpuBackend::average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, y);
  kernels_.average_pool2d(x, window, y);
}

void PretendGpuBackend::average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) {
  const DeviceMemory::Access access(memory_);
  check(dy, dx);
  kernels_.average_pool2d_gradient(dy, window, dx);
}

Tensor PretendGpuBackend::run(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                              const Tensor& y) {
  const DeviceMemory::Access access(memory_);
  check(x, weights, y);
  return recurrence_.run(layer, x, weights, keep, y);
}

void PretendGpuBackend::gradient(const Ran& ran, const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights) {
  const DeviceMemory::Access access(memory_);
  check(ran.x, ran.weights, ran.y, ran.kept, dy, dx, dweights);
  recurrence_.gradient(ran, dy, dx, dweights);
}

void PretendGpuBackend::lstm_step(const Tensor& gates, const Tensor& recurrent, const Tensor& c_before, const Tensor& c,
                                  const Tensor& h) {
  const DeviceMemory::Access access(memory_);
  check(gates, recurrent, c_before, c, h);
  kernels_.lstm_step(gates, recurrent, c_before, c, h);
}

void PretendGpuBackend::lstm_step_gradient(const Tensor& gates, const Tensor& c_before, const Tensor& c,
                                           const Tensor& dh, const Tensor& dc, const Tensor& dsums) {
  const DeviceMemory::Access access(memory_);
  check(gates, c_before, c, dh, dc, dsums);
  kernels_.lstm_step_gradient(gates, c_before, c, dh, dc, dsums);
}

void PretendGpuBackend::gru_step(const Tensor& gates, const Tensor& recurrent, const Tensor& h_before,
                                 const Tensor& state_sum, const Tensor& h) {
  const DeviceMemory::Access access(memory_);
  check(gates, recurrent, h_before, state_sum, h);
  kernels_.gru_step(gates, recurrent, h_before, state_sum, h);
}

void PretendGpuBackend::gru_step_gradient(const Tensor& gates, const Tensor& state_sum, const Tensor& h_before,
                                          const Tensor& dh, const Tensor& dgates, const Tensor& drecurrent) {
  const DeviceMemory::Access access(memory_);
  check(gates, state_sum, h_before, dh, dgates, drecurrent);
  kernels_.gru_step_gradient(gates, state_sum, h_before, dh, dgates, drecurrent);
}

void PretendGpuBackend::reduce(ReduceOp op, const ReduceViews<float>& views) {
  const DeviceMemory::Access access(memory_);
  check(views);
  kernels_.reduce(op, views);
}

void PretendGpuBackend::reduce(ReduceOp op, const ReduceViews<bfloat16>& views) {
  const DeviceMemory::Access access(memory_);
  check(views);
  kernels_.reduce(op, views);
}

void PretendGpuBackend::reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) {
  const DeviceMemory::Access access(memory_);
  check(views);
  kernels_.reduce(op, views);
}

void PretendGpuBackend::reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) {
  const DeviceMemory::Access access(memory_);
  check(views);
  kernels_.reduce(op, views);
}

void PretendGpuBackend::update(const OptimizerStep& step, const UpdateViews& views) {
  const DeviceMemory::Access access(memory_);
  check(views);
  kernels_.update(step, views);
}

double PretendGpuBackend::squared_norm(const float* x, std::int64_t count) {
  const DeviceMemory::Access access(memory_);
  check(x);
  return kernels_.squared_norm(x, count);
}

}  // namespace lockstep::test
