#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <utility>

#include <kernels/differentiable_ops.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/normalization/layer_norm.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/recurrence/composed_recurrence.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/sort.h>

namespace lockstep::test {

std::string Op::test_name() const {
  std::string result = name;
  for (char& letter : result)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return result;
}

namespace {

using In = std::span<const Tensor>;

/// Of every element.
std::vector<Op> elementwise_ops(const Tensor& x) {
  std::vector<Op> ops;
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Tensor (*)(const Tensor&)>>{
           {"negative", negative},
           {"exp", exp},
           {"log", log},
           {"sqrt", sqrt},
           {"square", square},
           {"abs", abs},
           {"relu", relu},
           {"relu6", relu6},
           {"leaky_relu", [](const Tensor& a) { return leaky_relu(a); }},
           {"elu", [](const Tensor& a) { return elu(a); }},
           {"selu", selu},
           {"gelu", [](const Tensor& a) { return gelu(a); }},
           {"gelu_tanh", [](const Tensor& a) { return gelu(a, true); }},
           {"sigmoid", sigmoid},
           {"hard_sigmoid", hard_sigmoid},
           {"silu", silu},
           {"softplus", softplus},
           {"softsign", softsign},
           {"tanh", tanh},
           {"maximum", [](const Tensor& a) { return maximum(a, 0.5); }},
           {"minimum", [](const Tensor& a) { return minimum(a, 0.5); }}})
    ops.push_back({name, {x}, [function = function](In in) { return function(in[0]); }});
  return ops;
}

/// One of every other family.
std::vector<Op> other_ops(const Tensor& x) {
  const Tensor y = random_tensor({4, 6}, 2, 0.2, 0.8);
  const Tensor kernel = random_tensor({6, 5}, 3);
  const Tensor bias = random_tensor({5}, 4);
  const Tensor image = random_tensor({2, 4, 4, 3}, 5);
  const Tensor filters = random_tensor({3, 3, 3, 2}, 6);
  const auto channels = [](unsigned seed) { return random_tensor({6}, seed, 0.5, 1.5); };
  const Tensor sequence = random_tensor({2, 3, 6}, 8);
  const Tensor gates = random_tensor({6, 8}, 9);
  const Tensor recurrent = random_tensor({2, 8}, 10);
  const Tensor gate_bias = random_tensor({8}, 11);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{3, 1, 2, 0}, {4});
  return {
      {"add", {x, y}, [](In in) { return in[0] + in[1]; }},
      {"subtract", {x, y}, [](In in) { return in[0] - in[1]; }},
      {"multiply", {x, y}, [](In in) { return in[0] * in[1]; }},
      {"divide", {x, y}, [](In in) { return in[0] / in[1]; }},
      {"add number", {x}, [](In in) { return in[0] + 2.0; }},
      {"multiply number", {x}, [](In in) { return in[0] * 2.0; }},
      {"cast", {x}, [](In in) { return cast(cast(in[0], DType::bf16), DType::f32); }},
      {"sum", {x}, [](In in) { return sum(in[0], {1}); }},
      {"mean", {x}, [](In in) { return mean(in[0], {0}); }},
      {"sort", {x}, [](In in) { return sort(in[0]); }},
      {"sort of columns", {x}, [](In in) { return sort(in[0], 0, SortDirection::descending); }},
      {"top_k", {x}, [](In in) { return top_k(in[0], 3).values; }},
      {"cumsum", {x}, [](In in) { return cumsum(in[0], 1); }},
      {"cumsum of what is below", {x}, [](In in) { return cumsum(in[0], 0, {.exclusive = true, .reverse = true}); }},
      {"concat", {x, y}, [](In in) { return concat(in, 1); }},
      {"dense_copy of columns", {x}, [](In in) { return dense_copy(slice(in[0], 1, 1, 5)); }},
      {"dense", {x, kernel, bias}, [](In in) { return dense(in[0], in[1], in[2], Activation::tanh); }},
      {"conv2d", {image, filters}, [](In in) { return conv2d(in[0], in[1], {}, {}); }},
      {"max_pool2d",
       {image},
       [](In in) {
         return max_pool2d(in[0], {.window = {2, 2}, .strides = Size2d{2, 2}});
       }},
      {"batch_norm", {x, channels(12), channels(13)}, [](In in) { return batch_norm(in[0], in[1], in[2]).y; }},
      {"batch_norm of parts of a batch",
       {x, channels(12), channels(13)},
       [](In in) {
         return batch_norm(in[0], in[1], in[2],
                           {.gather =
                                [](const Tensor& own) {
                                  return concat(std::array{own, own}, 0);
                                }})
             .y;
       }},
      {"batch_norm_inference",
       {x, channels(12), channels(13), channels(14), channels(15)},
       [](In in) { return batch_norm_inference(in[0], in[1], in[2], in[3], in[4]); }},
      {"dropout", {x}, [](In in) { return dropout(in[0], 0.5F, {.seed = 1}); }},
      {"softmax", {x}, [](In in) { return softmax(in[0]); }},
      {"sparse_softmax_cross_entropy", {x}, [=](In in) { return sparse_softmax_cross_entropy(in[0], labels); }},
      {"binary_cross_entropy", {x}, [=](In in) { return binary_cross_entropy(in[0], y); }},
      {"log_softmax", {x}, [](In in) { return log_softmax(in[0]); }},
      {"add_n", {x, y}, [](In in) { return add_n(in); }},
      {"zero_pad2d",
       {image},
       [](In in) {
         return zero_pad2d(in[0], {1, 2, 0, 1});
       }},
      {"depthwise_conv2d", {image, filters}, [](In in) { return depthwise_conv2d(in[0], in[1], {}); }},
      {"layer_norm", {x, channels(12), channels(13)}, [](In in) { return layer_norm(in[0], in[1], in[2]); }},
      {"gru",
       {sequence, random_tensor({6, 9}, 16), random_tensor({3, 9}, 17), random_tensor({2, 9}, 18)},
       [](In in) { return gru(in[0], in[1], in[2], in[3]); }},
      {"gru of one step",
       {random_tensor({2, 1, 6}, 8), random_tensor({6, 9}, 16), random_tensor({3, 9}, 17), random_tensor({2, 9}, 18)},
       [](In in) { return gru(in[0], in[1], in[2], in[3]); }},
      {"gru of other functions",
       {sequence, random_tensor({6, 9}, 16), random_tensor({3, 9}, 17), random_tensor({9}, 18)},
       [](In in) { return gru(in[0], in[1], in[2], in[3], {.reset_after = false}); }},
      {"reshape",
       {x},
       [](In in) {
         return reshape(in[0], {3, 8});
       },
       true},
      {"reshape of columns",
       {x},
       [](In in) {
         return reshape(slice(in[0], 1, 1, 5), {8, 2});
       },
       true},
      {"flatten", {image}, [](In in) { return flatten(in[0]); }, true},
      {"slice of rows", {x}, [](In in) { return slice(in[0], 0, 1, 3); }, true},
      {"slice of columns", {x}, [](In in) { return slice(in[0], -1, 2, 3); }, true},
      {"split", {x}, [](In in) { return split(in[0], 3, 1)[1]; }, true},
      {"multiply both sides of a split",
       {x},
       [](In in) {
         const std::vector<Tensor> sides = split(in[0], 2, 1);
         return sides[0] * sides[1];
       }},
      {"multiply overlapping slices", {x}, [](In in) { return slice(in[0], 1, 0, 4) * slice(in[0], 1, 2, 6); }},
      {"multiply a tensor and its slice", {x}, [](In in) { return in[0] * slice(in[0], 0, 1, 2); }},
      {"average_pool2d",
       {image},
       [](In in) {
         return average_pool2d(in[0], {.window = {2, 2}, .strides = Size2d{1, 1}});
       }},
      {"embedding_lookup", {x}, [=](In in) { return embedding_lookup(in[0], labels); }},
      {"sigmoid_cross_entropy", {x}, [=](In in) { return sigmoid_cross_entropy(in[0], y); }},
      {"lstm", {sequence, gates, recurrent, gate_bias}, [](In in) { return lstm(in[0], in[1], in[2], in[3]); }},
      {"lstm of one step",
       {random_tensor({2, 1, 6}, 8), gates, recurrent, gate_bias},
       [](In in) { return lstm(in[0], in[1], in[2], in[3]); }},
      {"lstm of other functions",
       {sequence, gates, recurrent, gate_bias},
       [](In in) { return lstm(in[0], in[1], in[2], in[3], {.activation = Activation::relu}); }},
  };
}

}  // namespace

std::vector<Op> differentiable_ops() {
  const Tensor x = random_tensor({4, 6}, 1, 0.2, 0.8);
  std::vector<Op> ops = other_ops(x);
  std::ranges::move(elementwise_ops(x), std::back_inserter(ops));
  return ops;
}

}  // namespace lockstep::test
