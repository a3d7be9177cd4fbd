#pragma once

#include <functional>
#include <optional>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Options of scaled_dot_product_attention.
struct AttentionOptions {
  std::optional<float> scale{};  ///< factor of the scores; without it 1 / sqrt(d)
  bool is_causal = false;        ///< query i attends to keys 0 to i only
  /// Optional; any dtype, of a shape that broadcasts to (b, heads, tq, tk). Queries do not attend to keys where the
  /// mask is false or 0.
  Tensor mask{};
  float dropout_rate = 0;  ///< sets weights to 0 with this probability and scales the others by 1 / (1 - rate)
  /// Returns the key of the random numbers of dropout. Called once or, for captured work, at each launch; never at rate
  /// 0.
  std::function<RandomKey()> next_key{};
};

/// softmax(scale * query key^T) value for each head (Vaswani et al. 2017), in keras.ops.dot_product_attention's layout:
/// query (b, tq, heads, d), key (b, tk, kv_heads, d), value (b, tk, kv_heads, dv) -> (b, tq, heads, dv). `heads` is a
/// multiple of kv_heads; heads / kv_heads neighboring heads of the query share one head of key and value. All f32 or
/// all bf16, any strides; scores and sums are f32. A query that attends to no key gives all keys the same weight, as in
/// Keras, and passes gradients on to the values only. Memory for weights is bounded, independently of tq: the gradient
/// recomputes the weights from the maximum and the sum of each softmax. Differentiable. Throws InvalidArgument for
/// shapes, dtypes and options that do not fit.
///
/// On GPUs, cuDNN computes bf16 without dropout where it has a deterministic algorithm: d and dv are multiples of 8, at
/// most 128, or 256 on some GPUs. It rounds weights to bf16 before it multiplies them, and with a mask, scores must be
/// smaller than 2^28. Its gradient may take 2 bytes for each score, of as many examples as fit into 1 GiB, at least
/// one. A slower kernel computes all else, among it dropout, whose random numbers are those of CPUs.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

}  // namespace lockstep
