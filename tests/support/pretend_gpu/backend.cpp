#include <support/pretend_gpu/backend.h>
#include <support/pretend_gpu/tensor_at.h>

#include <lockstep/runtime/device/not_capturable.h>

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

void PretendGpuBackend::told_later(const char* op, std::int64_t place) {
  if (place >= 0) gpus_.take_down_fault(op, place);
}

void PretendGpuBackend::note(const Place& entry) const {
  // Some compilers give the name alone, others the whole declaration.
  std::string name = entry.function_name();
  name = name.substr(0, name.find('('));
  name = name.substr(name.find_last_of(": ") + 1);
  const std::lock_guard lock(mutex_);
  called_.emplace(name, entry.line());
}

std::multiset<std::string> PretendGpuBackend::called() const {
  const std::lock_guard lock(mutex_);
  std::multiset<std::string> names;
  for (const auto& [name, line] : called_) names.insert(name);
  return names;
}

Tensor PretendGpuBackend::noted(const Tensor& tensor) const {
  if (!gpus_.captures() || !tensor.defined() || tensor.elements() == 0) return tensor;
  return tensor_at(tensor);
}

void PretendGpuBackend::unary(const UnaryFunction& f, const Tensor& x, const Tensor& y) {
  check(x, y);
  compute([=, this, x = noted(x), y = noted(y)] { kernels_.unary(f, x, y); });
}

void PretendGpuBackend::unary_gradient(const UnaryFunction& f, const Tensor& kept, const Tensor& dy, const Tensor& dx) {
  check(kept, dy, dx);
  compute([=, this, kept = noted(kept), dy = noted(dy), dx = noted(dx)] { kernels_.unary_gradient(f, kept, dy, dx); });
}

void PretendGpuBackend::binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  check(a, b, out);
  compute([=, this, a = noted(a), b = noted(b), out = noted(out)] { kernels_.binary(op, a, b, out); });
}

void PretendGpuBackend::affine(const Tensor& x, float scale, float shift, const Tensor& y) {
  check(x, y);
  compute([=, this, x = noted(x), y = noted(y)] { kernels_.affine(x, scale, shift, y); });
}

void PretendGpuBackend::accumulate(const Tensor& x, int sign, const Tensor& out) {
  check(x, out);
  compute([=, this, x = noted(x), out = noted(out)] { kernels_.accumulate(x, sign, out); });
}

void PretendGpuBackend::convert(const Tensor& x, const Tensor& y) {
  check(x, y);
  compute([=, this, x = noted(x), y = noted(y)] { kernels_.convert(x, y); });
}

void PretendGpuBackend::fill(const Tensor& x, float value) {
  check(x);
  compute([=, this, x = noted(x)] { kernels_.fill(x, value); });
}

void PretendGpuBackend::moving_average(const Tensor& average, const Tensor& value, float momentum) {
  check(average, value);
  compute(
      [=, this, average = noted(average), value = noted(value)] { kernels_.moving_average(average, value, momentum); });
}

void PretendGpuBackend::dropout(const Tensor& x, float rate, const RandomKey& key, const Tensor& y) {
  check(x, y);
  compute([=, this, x = noted(x), y = noted(y)] { kernels_.dropout(x, rate, key, y); });
}

void PretendGpuBackend::sum_middle(const Tensor& x, const Tensor& y) {
  check(x, y);
  compute([=, this, x = noted(x), y = noted(y)] { kernels_.sum_middle(x, y); });
}

void PretendGpuBackend::argmax(const Tensor& x, const Tensor& y) {
  check(x, y);
  compute([=, this, x = noted(x), y = noted(y)] { kernels_.argmax(x, y); });
}

void PretendGpuBackend::sort_middle(const Tensor& x, SortDirection direction, const Tensor& values,
                                    const Tensor& indices) {
  check(x, values, indices);
  compute([=, this, x = noted(x), values = noted(values), indices = noted(indices)] {
    kernels_.sort_middle(x, direction, values, indices);
  });
}

void PretendGpuBackend::sort_middle_gradient(const Tensor& dy, const Tensor& indices, const Tensor& dx) {
  check(dy, indices, dx);
  compute([=, this, dy = noted(dy), indices = noted(indices), dx = noted(dx)] {
    kernels_.sort_middle_gradient(dy, indices, dx);
  });
}

void PretendGpuBackend::cumulative_sum(const Tensor& x, bool exclusive, bool reverse, const Tensor& y) {
  check(x, y);
  compute([=, this, x = noted(x), y = noted(y)] { kernels_.cumulative_sum(x, exclusive, reverse, y); });
}

void PretendGpuBackend::limit_norms(const Tensor& x, int first, const NormLimits& limits) {
  check(x);
  compute([=, this, x = noted(x)] { kernels_.limit_norms(x, first, limits); });
}

std::int64_t PretendGpuBackend::gather_rows(const Tensor& x, const Tensor& indices, const Tensor& y) {
  check(x, indices, y);
  compute([=, this, x = noted(x), indices = noted(indices), y = noted(y)] {
    told_later("gather_rows", kernels_.gather_rows(x, indices, y));
  });
  return -1;  // a GPU does not wait to tell the place of a bad index
}

std::int64_t PretendGpuBackend::scatter_add_rows(const Tensor& values, const Tensor& indices, const Tensor& out) {
  check(values, indices, out);
  compute([=, this, values = noted(values), indices = noted(indices), out = noted(out)] {
    told_later("scatter_add_rows", kernels_.scatter_add_rows(values, indices, out));
  });
  return -1;  // a GPU does not wait to tell the place of a bad index
}

void PretendGpuBackend::softmax(const Tensor& logits, const Tensor& y) {
  check(logits, y);
  compute([=, this, logits = noted(logits), y = noted(y)] { kernels_.softmax(logits, y); });
}

void PretendGpuBackend::softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  check(y, dy, dx);
  compute([=, this, y = noted(y), dy = noted(dy), dx = noted(dx)] { kernels_.softmax_gradient(y, dy, dx); });
}

void PretendGpuBackend::log_softmax(const Tensor& logits, const Tensor& y) {
  check(logits, y);
  compute([=, this, logits = noted(logits), y = noted(y)] { kernels_.log_softmax(logits, y); });
}

void PretendGpuBackend::log_softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  check(y, dy, dx);
  compute([=, this, y = noted(y), dy = noted(dy), dx = noted(dx)] { kernels_.log_softmax_gradient(y, dy, dx); });
}

std::int64_t PretendGpuBackend::sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels,
                                                             const Tensor& loss, const Tensor& probabilities) {
  check(logits, labels, loss, probabilities);
  compute([=, this, logits = noted(logits), labels = noted(labels), loss = noted(loss),
           probabilities = noted(probabilities)] {
    told_later("sparse_softmax_cross_entropy",
               kernels_.sparse_softmax_cross_entropy(logits, labels, loss, probabilities));
  });
  return -1;  // a GPU does not wait to tell the place of a bad index
}

void PretendGpuBackend::sparse_softmax_cross_entropy_gradient(const Tensor& probabilities, const Tensor& labels,
                                                              const Tensor& dloss, const Tensor& dx) {
  check(probabilities, labels, dloss, dx);
  compute([=, this, probabilities = noted(probabilities), labels = noted(labels), dloss = noted(dloss),
           dx = noted(dx)] { kernels_.sparse_softmax_cross_entropy_gradient(probabilities, labels, dloss, dx); });
}

void PretendGpuBackend::binary_cross_entropy(bool from_logits, const Tensor& x, const Tensor& targets,
                                             const Tensor& loss) {
  check(x, targets, loss);
  compute([=, this, x = noted(x), targets = noted(targets), loss = noted(loss)] {
    kernels_.binary_cross_entropy(from_logits, x, targets, loss);
  });
}

void PretendGpuBackend::binary_cross_entropy_gradient(bool from_logits, const Tensor& x, const Tensor& targets,
                                                      const Tensor& dloss, const Tensor& dx) {
  check(x, targets, dloss, dx);
  compute([=, this, x = noted(x), targets = noted(targets), dloss = noted(dloss), dx = noted(dx)] {
    kernels_.binary_cross_entropy_gradient(from_logits, x, targets, dloss, dx);
  });
}

void PretendGpuBackend::conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window,
                               Activation activation, const Tensor& y) {
  check(x, kernel, bias, y);
  compute([=, this, x = noted(x), kernel = noted(kernel), bias = noted(bias), y = noted(y)] {
    library_.conv2d(x, kernel, bias, window, activation, y);
  });
}

void PretendGpuBackend::conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write,
                                          const Tensor& dx) {
  check(dy, kernel, dx);
  compute([=, this, dy = noted(dy), kernel = noted(kernel), dx = noted(dx)] {
    library_.conv2d_gradient_x(dy, kernel, window, write, dx);
  });
}

void PretendGpuBackend::conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window,
                                               const Tensor& dkernel, const Tensor& dbias) {
  check(x, dy, dkernel, dbias);
  compute([=, this, x = noted(x), dy = noted(dy), dkernel = noted(dkernel), dbias = noted(dbias)] {
    library_.conv2d_gradient_kernel(x, dy, window, dkernel, dbias);
  });
}

void PretendGpuBackend::dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation,
                              const Tensor& y) {
  check(x, kernel, bias, y);
  compute([=, this, x = noted(x), kernel = noted(kernel), bias = noted(bias), y = noted(y)] {
    library_.dense(x, kernel, bias, activation, y);
  });
}

void PretendGpuBackend::dense_gradient_x(const Tensor& dy, const Tensor& kernel, Write write, const Tensor& dx) {
  check(dy, kernel, dx);
  compute([=, this, dy = noted(dy), kernel = noted(kernel), dx = noted(dx)] {
    library_.dense_gradient_x(dy, kernel, write, dx);
  });
}

void PretendGpuBackend::dense_gradient_kernel(const Tensor& x, const Tensor& dy, const Tensor& dkernel,
                                              const Tensor& dbias) {
  check(x, dy, dkernel, dbias);
  compute([=, this, x = noted(x), dy = noted(dy), dkernel = noted(dkernel), dbias = noted(dbias)] {
    library_.dense_gradient_kernel(x, dy, dkernel, dbias);
  });
}

void PretendGpuBackend::channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) {
  check(x, mean, variance);
  compute([=, this, x = noted(x), mean = noted(mean), variance = noted(variance)] {
    kernels_.channel_moments(x, mean, variance);
  });
}

void PretendGpuBackend::batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                   const Tensor& variance, float epsilon, bool relu, const Tensor& y) {
  check(x, gamma, beta, mean, variance, y);
  compute([=, this, x = noted(x), gamma = noted(gamma), beta = noted(beta), mean = noted(mean),
           variance = noted(variance),
           y = noted(y)] { kernels_.batch_norm(x, gamma, beta, mean, variance, epsilon, relu, y); });
}

void PretendGpuBackend::merge_moments(const Tensor& parts, const Tensor& mean, const Tensor& variance) {
  check(parts, mean, variance);
  compute([=, this, parts = noted(parts), mean = noted(mean), variance = noted(variance)] {
    kernels_.merge_moments(parts, mean, variance);
  });
}

void PretendGpuBackend::batch_norm_gradient_sums(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                                 const Tensor& mean, const Tensor& variance, float epsilon, bool relu,
                                                 const Tensor& dy, const Tensor& dgamma, const Tensor& dbeta) {
  check(x, gamma, beta, mean, variance, dy, dgamma, dbeta);
  compute([=, this, x = noted(x), gamma = noted(gamma), beta = noted(beta), mean = noted(mean),
           variance = noted(variance), dy = noted(dy), dgamma = noted(dgamma), dbeta = noted(dbeta)] {
    kernels_.batch_norm_gradient_sums(x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta);
  });
}

void PretendGpuBackend::batch_norm_gradient_x(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                              const Tensor& mean, const Tensor& variance, float epsilon, bool relu,
                                              const Tensor& dy, const Tensor& dgamma, const Tensor& dbeta,
                                              std::int64_t count, const Tensor& dx) {
  check(x, gamma, beta, mean, variance, dy, dgamma, dbeta, dx);
  compute([=, this, x = noted(x), gamma = noted(gamma), beta = noted(beta), mean = noted(mean),
           variance = noted(variance), dy = noted(dy), dgamma = noted(dgamma), dbeta = noted(dbeta), dx = noted(dx)] {
    kernels_.batch_norm_gradient_x(x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta, count, dx);
  });
}

void PretendGpuBackend::layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon,
                                   const Tensor& y, const Tensor& mean, const Tensor& inverse) {
  check(x, gamma, beta, y, mean, inverse);
  compute([=, this, x = noted(x), gamma = noted(gamma), beta = noted(beta), y = noted(y), mean = noted(mean),
           inverse = noted(inverse)] { kernels_.layer_norm(x, gamma, beta, epsilon, y, mean, inverse); });
}

void PretendGpuBackend::layer_norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& mean,
                                            const Tensor& inverse, const Tensor& dy, const Tensor& dx,
                                            const Tensor& dgamma, const Tensor& dbeta) {
  check(x, gamma, mean, inverse, dy, dx, dgamma, dbeta);
  compute([=, this, x = noted(x), gamma = noted(gamma), mean = noted(mean), inverse = noted(inverse), dy = noted(dy),
           dx = noted(dx), dgamma = noted(dgamma),
           dbeta = noted(dbeta)] { kernels_.layer_norm_gradient(x, gamma, mean, inverse, dy, dx, dgamma, dbeta); });
}

void PretendGpuBackend::max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y, const Tensor& places) {
  check(x, y, places);
  compute([=, this, x = noted(x), y = noted(y), places = noted(places)] { kernels_.max_pool2d(x, window, y, places); });
}

void PretendGpuBackend::max_pool2d_gradient(const Tensor& places, const Window2d& window, const Tensor& dy,
                                            const Tensor& dx) {
  check(places, dy, dx);
  compute([=, this, places = noted(places), dy = noted(dy), dx = noted(dx)] {
    kernels_.max_pool2d_gradient(places, window, dy, dx);
  });
}

void PretendGpuBackend::average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) {
  check(x, y);
  compute([=, this, x = noted(x), y = noted(y)] { kernels_.average_pool2d(x, window, y); });
}

void PretendGpuBackend::average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) {
  check(dy, dx);
  compute([=, this, dy = noted(dy), dx = noted(dx)] { kernels_.average_pool2d_gradient(dy, window, dx); });
}

WholeRecurrence* PretendGpuBackend::whole_recurrence() {
  note(Place::current());
  return this;
}

bool PretendGpuBackend::runs(const RecurrentLayer& layer) const {
  note(Place::current());
  return recurrence_.runs(layer);
}

Tensor PretendGpuBackend::run(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                              const Tensor& y) {
  refuse_capture("a whole recurrent layer");
  launch();
  const DeviceMemory::Access access(memory_);
  check(x, weights, y);
  return recurrence_.run(layer, x, weights, keep, y);
}

void PretendGpuBackend::gradient(const Ran& ran, const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights) {
  launch();
  const DeviceMemory::Access access(memory_);
  check(ran.x, ran.weights, ran.y, ran.kept, dy, dx, dweights);
  recurrence_.gradient(ran, dy, dx, dweights);
}

void PretendGpuBackend::lstm_step(const Tensor& gates, const Tensor& recurrent, const Tensor& c_before, const Tensor& c,
                                  const Tensor& h) {
  check(gates, recurrent, c_before, c, h);
  compute([=, this, gates = noted(gates), recurrent = noted(recurrent), c_before = noted(c_before), c = noted(c),
           h = noted(h)] { kernels_.lstm_step(gates, recurrent, c_before, c, h); });
}

void PretendGpuBackend::lstm_step_gradient(const Tensor& gates, const Tensor& c_before, const Tensor& c,
                                           const Tensor& dh, const Tensor& dc, const Tensor& dsums) {
  check(gates, c_before, c, dh, dc, dsums);
  compute([=, this, gates = noted(gates), c_before = noted(c_before), c = noted(c), dh = noted(dh), dc = noted(dc),
           dsums = noted(dsums)] { kernels_.lstm_step_gradient(gates, c_before, c, dh, dc, dsums); });
}

void PretendGpuBackend::gru_step(const Tensor& gates, const Tensor& recurrent, const Tensor& h_before,
                                 const Tensor& state_sum, const Tensor& h) {
  check(gates, recurrent, h_before, state_sum, h);
  compute([=, this, gates = noted(gates), recurrent = noted(recurrent), h_before = noted(h_before),
           state_sum = noted(state_sum),
           h = noted(h)] { kernels_.gru_step(gates, recurrent, h_before, state_sum, h); });
}

void PretendGpuBackend::gru_step_gradient(const Tensor& gates, const Tensor& state_sum, const Tensor& h_before,
                                          const Tensor& dh, const Tensor& dgates, const Tensor& drecurrent) {
  check(gates, state_sum, h_before, dh, dgates, drecurrent);
  compute([=, this, gates = noted(gates), state_sum = noted(state_sum), h_before = noted(h_before), dh = noted(dh),
           dgates = noted(dgates), drecurrent = noted(drecurrent)] {
    kernels_.gru_step_gradient(gates, state_sum, h_before, dh, dgates, drecurrent);
  });
}

void PretendGpuBackend::reduce(ReduceOp op, const ReduceViews<float>& views) { reduce_views(op, views); }

void PretendGpuBackend::reduce(ReduceOp op, const ReduceViews<bfloat16>& views) { reduce_views(op, views); }

void PretendGpuBackend::reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) { reduce_views(op, views); }

void PretendGpuBackend::reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) { reduce_views(op, views); }

void PretendGpuBackend::update(const OptimizerStep& step, const UpdateViews& views) {
  refuse_capture("an update");
  launch();
  const DeviceMemory::Access access(memory_);
  check(views);
  kernels_.update(step, views);
}

double PretendGpuBackend::squared_norm(const float* x, std::int64_t count) {
  refuse_capture("a value read by the host");
  launch();
  const DeviceMemory::Access access(memory_);
  check(x);
  return kernels_.squared_norm(x, count);
}

}  // namespace lockstep::test
