#include "lockstep/kernels/attention/attention.h"

#include <cmath>
#include <memory>

#include <lockstep/kernels/attention/attention_kernels.h>
#include <lockstep/kernels/attention/composed_attention.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/autograd/repeated_values.h>
#include <lockstep/runtime/device/gpu_capture.h>

namespace lockstep {
namespace {

constexpr const char* op = "dot_product_attention";

void check_operands(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const Tensor* x : {&query, &key, &value}) require_real(op, *x);
  require(query.dtype() == key.dtype() && query.dtype() == value.dtype(),
          "{} takes tensors of one dtype, got query {}, key {}, value {}; cast them", op, query, key, value);
  require(query.rank() == 4 && key.rank() == 4 && value.rank() == 4,
          "{} takes tensors (batch, time, heads, size), got query {}, key {}, value {}", op, query.shape(), key.shape(),
          value.shape());
  require(query.dim(0) == key.dim(0) && query.dim(3) == key.dim(3) && query.dim(3) >= 1,
          "{}: query {} and key {} must have one batch and one size of heads, at least 1", op, query.shape(),
          key.shape());
  require(key.dim(0) == value.dim(0) && key.dim(1) == value.dim(1) && key.dim(2) == value.dim(2) && key.dim(1) >= 1,
          "{}: key {} and value {} must have one batch, one time of at least 1, and the same heads", op, key.shape(),
          value.shape());
  require(value.dim(3) >= 1, "{}: value {} needs heads of at least 1 number", op, value.shape());
  require(key.dim(2) >= 1 && query.dim(2) % key.dim(2) == 0, "{}: the heads of query {} are no multiple of key {}'s",
          op, query.shape(), key.shape());
}

/// The shape of all scores, (b, heads, tq, tk).
Shape scores_of(const Tensor& query, const Tensor& key) {
  return {query.dim(0), query.dim(2), query.dim(1), key.dim(1)};
}

/// Throws InvalidArgument unless x, the mask or bias, broadcasts to the scores.
void check_broadcasts(const char* what, const Tensor& x, const Shape& scores) {
  bool fits = x.rank() <= scores.rank();
  for (int axis = 1; fits && axis <= x.rank(); ++axis) fits = x.dim(-axis) == 1 || x.dim(-axis) == scores.dim(-axis);
  require(fits, "{}: a {} {} does not broadcast to scores (batch, heads, queries, keys) {}", op, what, x.shape(),
          scores);
}

/// The mask as bool, which broadcasts to the scores; undefined if it is.
Tensor mask_of_scores(const Tensor& mask, const Shape& scores) {
  if (!mask.defined()) return mask;
  check_broadcasts("mask", mask, scores);
  return in_dtype(DType::boolean, to_current_device(mask));
}

Tensor with_bias(const Tensor& query, const Tensor& key, const Tensor& value, AttentionOptions options) {
  const Shape scores = scores_of(query, key);
  require_real(op, options.bias);
  check_broadcasts("bias", options.bias, scores);
  options.mask = mask_of_scores(options.mask, scores);
  return weighted_values(attention_weights(query, key, options), value, options);
}

/// Operands and results of the forward pass, which the gradient needs. `random` points to the dropout key of the latest
/// forward pass.
struct Saved {
  Tensor query, key, value;
  kernels::AttentionRule rule;
  std::shared_ptr<RandomKey> random;
  Tensor y, maximum, sum;

  /// Calls launch_kernel(rule), also at each launch of captured work if random numbers change what it does.
  template <class Launch>
  void launch_with_rule(const Launch& launch_kernel) const {
    if (rule.dropout_rate == 0) return launch_kernel(rule);
    GpuCapture::each_time([*this, launch_kernel] {
      kernels::AttentionRule current = rule;
      current.key = *random;
      launch_kernel(current);
    });
  }

  void contribute_gradients(BackwardContext& c) const {
    c.stop_recording("compose the attention of matmul and softmax, whose gradients are");
    const Tensor dquery = Tensor::empty(query.shape(), query.dtype());
    const Tensor dkey = Tensor::empty(key.shape(), key.dtype());
    const Tensor dvalue = Tensor::empty(value.shape(), value.dtype());
    launch_with_rule([saved = *this, dy = c.gradient(0), dquery, dkey, dvalue](const kernels::AttentionRule& current) {
      launch(kernels::AttentionGradient{saved.query, saved.key, saved.value, current, saved.y, saved.maximum, saved.sum,
                                        dy, dquery, dkey, dvalue});
    });
    if (c.needs(0)) hand_over(c, 0, dquery);
    if (c.needs(1)) hand_over(c, 1, dkey);
    if (c.needs(2)) hand_over(c, 2, dvalue);
  }
};

}  // namespace

Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const AttentionOptions& options) try {
  check_operands(query, key, value);
  const float rate = options.dropout_rate;
  require(rate >= 0 && rate < 1, "{} takes a dropout rate of at least 0 and less than 1, got {}", op, rate);
  require(rate == 0 || options.next_key, "{} with dropout needs next_key, which returns the key of its random numbers",
          op);
  if (options.bias.defined()) return with_bias(query, key, value, options);
  const Shape scores = scores_of(query, key);
  const Tensor mask = mask_of_scores(options.mask, scores);
  const Shape rows{query.dim(0), query.dim(2), query.dim(1)};
  const kernels::AttentionRule rule{.scale = options.scale.value_or(1.0F / std::sqrt(static_cast<float>(query.dim(3)))),
                                    .is_causal = options.is_causal,
                                    .mask = mask.defined() ? mask.broadcast_view(scores) : mask,
                                    .dropout_rate = rate,
                                    .key = {},
                                    .examples_per_seed = std::make_shared<std::int64_t>(0)};
  const Saved saved{.query = to_current_device(query),
                    .key = to_current_device(key),
                    .value = to_current_device(value),
                    .rule = rule,
                    .random = std::make_shared<RandomKey>(),
                    .y = Tensor::empty({query.dim(0), query.dim(1), query.dim(2), value.dim(3)}, query.dtype()),
                    .maximum = Tensor::empty(rows),
                    .sum = Tensor::empty(rows)};
  if (rate > 0)
    GpuCapture::each_time(
        [random = saved.random, next_key = repeated_function(options.next_key)] { *random = next_key(); });
  saved.launch_with_rule([saved](const kernels::AttentionRule& current) {
    launch(kernels::Attention{saved.query, saved.key, saved.value, current, saved.y, saved.maximum, saved.sum});
  });
  if (recording({saved.query, saved.key, saved.value}))
    record(op, {saved.query, saved.key, saved.value}, saved.y,
           [saved](BackwardContext& c) { saved.contribute_gradients(c); });
  return saved.y;
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace lockstep
