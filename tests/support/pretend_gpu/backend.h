#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include <support/pretend_gpu/computing.h>
#include <support/pretend_gpu/recurrence.h>

#include <lockstep/kernels/backend.h>

namespace lockstep::test {

/// The op table of the pretended GPUs: each function of another table, with the GPUs' memory open while it runs.
class PretendGpuBackend final : public Backend, WholeRecurrence {
 public:
  /// `kernels` do all but the convolutions and matrix products, which `library` does, and whole recurrent layers.
  PretendGpuBackend(PretendGpuComputing& gpus, Backend& kernels, Backend& library)
      : gpus_(gpus), memory_(gpus.memory()), kernels_(kernels), library_(library) {}

  void unary(const UnaryFunction& f, const Tensor& x, const Tensor& y) override;
  void unary_gradient(const UnaryFunction& f, const Tensor& kept, const Tensor& dy, const Tensor& dx) override;
  void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) override;
  void affine(const Tensor& x, float scale, float shift, const Tensor& y) override;
  void accumulate(const Tensor& x, int sign, const Tensor& out) override;
  void convert(const Tensor& x, const Tensor& y) override;
  void fill(const Tensor& x, float value) override;
  void moving_average(const Tensor& average, const Tensor& value, float momentum) override;
  void dropout(const Tensor& x, float rate, const RandomKey& key, const Tensor& y) override;
  void sum_middle(const Tensor& x, const Tensor& y) override;
  void argmax(const Tensor& x, const Tensor& y) override;
  void sort_middle(const Tensor& x, SortDirection direction, const Tensor& values, const Tensor& indices) override;
  void sort_middle_gradient(const Tensor& dy, const Tensor& indices, const Tensor& dx) override;
  void cumulative_sum(const Tensor& x, bool exclusive, bool reverse, const Tensor& y) override;
  void limit_norms(const Tensor& x, int first, const NormLimits& limits) override;
  std::int64_t gather_rows(const Tensor& x, const Tensor& indices, const Tensor& y) override;
  std::int64_t scatter_add_rows(const Tensor& values, const Tensor& indices, const Tensor& out) override;
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
  void conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window, Activation activation,
              const Tensor& y) override;
  void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write,
                         const Tensor& dx) override;
  void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel,
                              const Tensor& dbias) override;
  void dense(const Tensor& x, const Tensor& kernel, const Tensor& bias, Activation activation,
             const Tensor& y) override;
  void dense_gradient_x(const Tensor& dy, const Tensor& kernel, Write write, const Tensor& dx) override;
  void dense_gradient_kernel(const Tensor& x, const Tensor& dy, const Tensor& dkernel, const Tensor& dbias) override;
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
  void layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon, const Tensor& y,
                  const Tensor& mean, const Tensor& inverse) override;
  void layer_norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& inverse,
                           const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta) override;
  void max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y, const Tensor& places) override;
  void max_pool2d_gradient(const Tensor& places, const Window2d& window, const Tensor& dy, const Tensor& dx) override;
  void average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) override;
  void average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) override;
  WholeRecurrence* whole_recurrence() override;
  void lstm_step(const Tensor& gates, const Tensor& recurrent, const Tensor& c_before, const Tensor& c,
                 const Tensor& h) override;
  void lstm_step_gradient(const Tensor& gates, const Tensor& c_before, const Tensor& c, const Tensor& dh,
                          const Tensor& dc, const Tensor& dsums) override;
  void gru_step(const Tensor& gates, const Tensor& recurrent, const Tensor& h_before, const Tensor& state_sum,
                const Tensor& h) override;
  void gru_step_gradient(const Tensor& gates, const Tensor& state_sum, const Tensor& h_before, const Tensor& dh,
                         const Tensor& dgates, const Tensor& drecurrent) override;
  void reduce(ReduceOp op, const ReduceViews<float>& views) override;
  void reduce(ReduceOp op, const ReduceViews<bfloat16>& views) override;
  void reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) override;
  void reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) override;
  void update(const OptimizerStep& step, const UpdateViews& views) override;
  double squared_norm(const float* x, std::int64_t count) override;

  /// The names of its functions, and of WholeRecurrence's, that have been called, one for each overload.
  std::multiset<std::string> called() const;

 private:
  // WholeRecurrence
  bool runs(const RecurrentLayer& layer) const override;
  Tensor run(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
             const Tensor& y) override;
  void gradient(const Ran& ran, const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights) override;

  // What kernels are given has to be in the GPUs' memory.
  void check_address(const void* address) const;
  void check_one(const Tensor& tensor) const;
  void check_one(const UpdateViews& views) const;
  void check_one(const RecurrentWeights& w) const { check(w.kernel, w.recurrent_kernel, w.bias); }
  void check_one(const float* address) const { check_address(address); }
  template <class T>
  void check_one(const ReduceViews<T>& views) const {
    if (views.count == 0) return;
    for (const T* const address : views.in) check_address(address);
    for (const T* const address : views.out) check_address(address);
  }
  template <class... Arguments>
  void check(const Arguments&... arguments) const {
    (check_one(arguments), ...);
  }

  /// The place of a bad index, if there is one.
  void told_later(const char* op, std::int64_t place);
  /// What work that may be noted holds of a tensor: no memory.
  Tensor noted(const Tensor& tensor) const;
  using Place = std::source_location;
  /// `entry` has been called: one for each place in the source.
  void note(const Place& entry) const;
  void compute(std::function<void()> work, const Place& entry = Place::current()) {
    note(entry);
    gpus_.compute(std::move(work));
  }
  /// The work of `entry` is done at once.
  void launch(const Place& entry = Place::current()) {
    note(entry);
    gpus_.launch();
  }
  template <class T>
  void reduce_views(ReduceOp op, const ReduceViews<T>& views, const Place& entry = Place::current()) {
    check(views);
    const auto work = [=, this, in = std::vector<const T*>(views.in.begin(), views.in.end()),
                       out = std::vector<T*>(views.out.begin(), views.out.end())] {
      kernels_.reduce(op, ReduceViews<T>{in, out, views.count, views.terms});
    };
    compute(work, entry);
  }

  PretendGpuComputing& gpus_;
  DeviceMemory& memory_;
  Backend& kernels_;
  Backend& library_;
  PretendGpuRecurrence recurrence_;
  mutable std::mutex mutex_;
  mutable std::set<std::pair<std::string, unsigned>> called_;  ///< names and lines; under the mutex
};

}  // namespace lockstep::test
