#pragma once

#include <functional>
#include <optional>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Options of dot_product_attention.
struct AttentionOptions {
  std::optional<float> scale{};  ///< factor of the scores; 1 / sqrt(d) by default
  bool is_causal = false;        ///< query i attends to keys 0 to i only
  /// Undefined, or an f32 or bf16 tensor whose shape broadcasts to (b, heads, tq, tk). It is added to the scores after
  /// their multiplication with `scale`. Differentiable.
  Tensor bias{};
  /// Undefined, or a tensor of any dtype whose shape broadcasts to (b, heads, tq, tk). Queries do not attend to keys
  /// where the mask is false or 0.
  Tensor mask{};
  float dropout_rate = 0;  ///< sets weights to 0 with this probability and scales the others by 1 / (1 - rate)
  /// Returns the key of the random numbers of dropout. Required if dropout_rate > 0, and otherwise never called. Called
  /// once per attention call or, if the call is captured in a CUDA graph, at each launch of the graph.
  std::function<RandomKey()> next_key{};
};

/// softmax(scale * query key^T + bias) value for each head (Vaswani et al. 2017), in keras.ops.dot_product_attention's
/// layout: query (b, tq, heads, d), key (b, tk, kv_heads, d), value (b, tk, kv_heads, dv) -> (b, tq, heads, dv).
/// `heads` is a multiple of kv_heads; heads / kv_heads neighboring query heads share one key head and one value head.
/// All tensors are f32, or all are bf16, with any strides; scores and sums are f32. A query that may not attend to any
/// key gives all keys the same weight, as in Keras; its gradient reaches only the values. The gradient recomputes the
/// weights from the maximum and the sum of each softmax, so the memory for weights does not grow with tq, except in
/// cuDNN's gradient (see below). Differentiable once; differentiating the gradient throws Unsupported. Throws
/// InvalidArgument for other shapes and dtypes, if d, dv, tk or kv_heads is 0, for a dropout_rate outside [0, 1), and
/// for a dropout_rate above 0 without next_key.
///
/// With a bias, the attention is composed of other ops on all devices. This needs memory for all scores, rounds the
/// scores and weights of bf16 tensors to bf16, uses different random numbers for dropout, and supports higher-order
/// gradients.
///
/// On GPUs, cuDNN computes bf16 attention if it has a deterministic algorithm; with dropout, it must have one for the
/// gradient, too. Its algorithms require that d and dv are multiples of 8 and at most 128, or 256 on some GPUs. cuDNN
/// rounds the weights to bf16 before it multiplies them with the values. With a mask, all scores must then be below
/// 2^28 in magnitude. cuDNN's gradient may store the scores, 2 bytes each; it then processes as many examples at a time
/// as fit into 1 GiB, and at least one.
///
/// cuDNN draws the random numbers of dropout itself. They depend on the key, the shapes, the kind of GPU and cuDNN's
/// version alone, and differ from those of CPUs. A query that may not attend to any key then keeps all of its weights.
/// All other attention without a bias is computed by a slower kernel, which uses the same random numbers as CPUs.
Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const AttentionOptions& options = {});

}  // namespace lockstep
