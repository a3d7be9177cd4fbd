#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/normalization/layer_norm.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/kernels/recurrence/lstm.h>

#include "rows.h"

namespace lockstep::test {
namespace {

/// A tensor of two elements after a move from it.
Tensor moved_from_tensor() { return moved_from(zeros({2})); }

Rows moved_from_op_rows() {
  return {
      misuse<InvalidArgument>("add", "a tensor that was moved from", "add takes f32 or bf16, got an undefined tensor",
                              [] { add(moved_from_tensor(), zeros({2})); }),
      misuse<InvalidArgument>("add", "an undefined tensor", "add takes f32 or bf16, got an undefined tensor",
                              [] { add(zeros({2}), Tensor()); }),
      misuse<InvalidArgument>("exp", "a tensor that was moved from", "exp takes f32 or bf16, got an undefined tensor",
                              [] { exp(moved_from_tensor()); }),
      misuse<InvalidArgument>("sum", "a tensor that was moved from", "sum takes f32 or bf16, got an undefined tensor",
                              [] { sum(moved_from_tensor()); }),
      misuse<InvalidArgument>("cast", "a tensor that was moved from", "cast takes a tensor, got an undefined one",
                              [] { cast(moved_from_tensor(), DType::i64); }),
      misuse<InvalidArgument>("reshape", "a tensor that was moved from", "reshape takes a tensor, got an undefined one",
                              [] {
                                reshape(moved_from_tensor(), {2, 1});
                              }),
      misuse<InvalidArgument>("concat", "tensors that were moved from", "concat takes tensors, got an undefined one",
                              [] {
                                concat(std::vector{moved_from_tensor(), moved_from_tensor()}, 0);
                              }),
      misuse<InvalidArgument>("embedding_lookup", "ids that were moved from",
                              "ids of i64, i32 or u8, got an undefined tensor",
                              [] {
                                embedding_lookup(zeros({3, 2}), moved_from_tensor());
                              }),
      misuse<InvalidArgument>("sparse_softmax_cross_entropy", "labels that were moved from",
                              "labels of i32, i64 or u8, got an undefined tensor",
                              [] {
                                sparse_softmax_cross_entropy(zeros({2, 3}), moved_from_tensor());
                              }),
  };
}

Rows elementwise_rows() {
  return {
      misuse<InvalidArgument>("subtract", "shapes that do not broadcast",
                              "subtract: shapes (2) and (3) do not broadcast",
                              [] { subtract(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("multiply", "a tensor that was moved from",
                              "multiply takes f32 or bf16, got an undefined tensor",
                              [] { multiply(zeros({2}), moved_from_tensor()); }),
      misuse<InvalidArgument>("multiply", "integers by a number", "multiply takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { multiply(zeros({2}, DType::i64), 2.0); }),
      misuse<InvalidArgument>("divide", "by integers", "divide takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { divide(zeros({2}), zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("add", "a number to a tensor that was moved from",
                              "add takes f32 or bf16, got an undefined tensor", [] { add(moved_from_tensor(), 1.0); }),
      misuse<InvalidArgument>("negative", "integers", "negative takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { negative(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("sqrt", "integers", "sqrt takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { sqrt(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("abs", "integers", "abs takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { abs(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("relu6", "integers", "relu6 takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { relu6(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("elu", "integers", "elu takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { elu(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("gelu", "integers", "gelu takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { gelu(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("silu", "integers", "silu takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { silu(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("softsign", "integers", "softsign takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { softsign(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("log", "a tensor that was moved from", "log takes f32 or bf16, got an undefined tensor",
                              [] { log(moved_from_tensor()); }),
      misuse<InvalidArgument>("square", "a tensor that was moved from",
                              "square takes f32 or bf16, got an undefined tensor", [] { square(moved_from_tensor()); }),
      misuse<InvalidArgument>("relu", "a tensor that was moved from", "relu takes f32 or bf16, got an undefined tensor",
                              [] { relu(moved_from_tensor()); }),
      misuse<InvalidArgument>("leaky_relu", "a tensor that was moved from",
                              "leaky_relu takes f32 or bf16, got an undefined tensor",
                              [] { leaky_relu(moved_from_tensor()); }),
      misuse<InvalidArgument>("selu", "a tensor that was moved from", "selu takes f32 or bf16, got an undefined tensor",
                              [] { selu(moved_from_tensor()); }),
      misuse<InvalidArgument>("sigmoid", "a tensor that was moved from",
                              "sigmoid takes f32 or bf16, got an undefined tensor",
                              [] { sigmoid(moved_from_tensor()); }),
      misuse<InvalidArgument>("softplus", "a tensor that was moved from",
                              "softplus takes f32 or bf16, got an undefined tensor",
                              [] { softplus(moved_from_tensor()); }),
      misuse<InvalidArgument>("tanh", "a tensor that was moved from", "tanh takes f32 or bf16, got an undefined tensor",
                              [] { tanh(moved_from_tensor()); }),
      misuse<InvalidArgument>("mean", "a tensor that was moved from", "mean takes f32 or bf16, got an undefined tensor",
                              [] { mean(moved_from_tensor()); }),
      misuse<InvalidArgument>("argmax", "a tensor that was moved from",
                              "argmax takes f32 or bf16, got an undefined tensor", [] { argmax(moved_from_tensor()); }),
      misuse<InvalidArgument>("maximum", "a tensor that was moved from",
                              "maximum takes f32 or bf16, got an undefined tensor",
                              [] { maximum(moved_from_tensor(), 0); }),
      misuse<InvalidArgument>("maximum", "shapes that do not broadcast", "maximum: shapes (2) and (3) do not broadcast",
                              [] { maximum(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("minimum", "of two dtypes",
                              "minimum takes tensors of one dtype, got f32 (2) on CPU:0 and bf16 (2) on CPU:0",
                              [] { minimum(zeros({2}), zeros({2}, DType::bf16)); }),
      misuse<InvalidArgument>("minimum", "integers", "minimum takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { minimum(zeros({2}, DType::i64), 0); }),
      misuse<InvalidArgument>("activate", "a tensor that was moved from",
                              "relu takes f32 or bf16, got an undefined tensor",
                              [] { activate(moved_from_tensor(), Activation::relu); }),
      misuse<InvalidArgument>("leaky_relu", "a negative slope",
                              "leaky_relu takes a negative_slope of at least 0, got -1",
                              [] { leaky_relu(zeros({2}), -1); }),
      misuse<InvalidArgument>("elu", "a negative alpha", "elu takes an alpha of at least 0, got -1",
                              [] { elu(zeros({2}), -1); }),
      misuse<InvalidArgument>("softmax", "a number", "softmax needs at least one axis, got f32 () on CPU:0",
                              [] { softmax(zeros(Shape())); }),
      misuse<InvalidArgument>("log_softmax", "a number", "log_softmax needs at least one axis, got f32 () on CPU:0",
                              [] { log_softmax(zeros(Shape())); }),
      misuse<InvalidArgument>("mean", "an axis that is not there", "axis 1 is out of range for rank 1",
                              [] { mean(zeros({2}), {1}); }),
      misuse<InvalidArgument>("sum", "an axis twice", "axis 0 of shape (2, 2) is given twice",
                              [] {
                                sum(zeros({2, 2}), {0, 0});
                              }),
      misuse<InvalidArgument>("argmax", "a last axis without elements",
                              "argmax of f32 (2, 0) on CPU:0: the last axis has no elements",
                              [] {
                                argmax(zeros({2, 0}));
                              }),
      misuse<InvalidArgument>("sort", "an axis that is not there", "axis 1 is out of range for rank 1",
                              [] { sort(zeros({2}), 1); }),
      misuse<InvalidArgument>("sort", "integers", "sort takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { sort(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("sort", "a tensor that was moved from", "sort takes f32 or bf16, got an undefined tensor",
                              [] { sort(moved_from_tensor()); }),
      misuse<InvalidArgument>("argsort", "a number", "axis -1 is out of range for rank 0", [] { argsort(zeros({})); }),
      misuse<InvalidArgument>("argsort", "a tensor that was moved from",
                              "argsort takes f32 or bf16, got an undefined tensor",
                              [] { argsort(moved_from_tensor()); }),
      misuse<InvalidArgument>("top_k", "none of the elements",
                              "top_k along the last axis of f32 (2) on CPU:0 takes a k of 1 to 2, got 0",
                              [] { top_k(zeros({2}), 0); }),
      misuse<InvalidArgument>("top_k", "more elements than there are",
                              "top_k along the last axis of f32 (2) on CPU:0 takes a k of 1 to 2, got 3",
                              [] { top_k(zeros({2}), 3); }),
      misuse<InvalidArgument>("top_k", "a number", "top_k needs at least one axis, got f32 () on CPU:0",
                              [] { top_k(zeros({}), 1); }),
      misuse<InvalidArgument>("top_k", "a tensor that was moved from",
                              "top_k takes f32 or bf16, got an undefined tensor",
                              [] { top_k(moved_from_tensor(), 1); }),
      misuse<InvalidArgument>("cumsum", "an axis that is not there", "axis 1 is out of range for rank 1",
                              [] { cumsum(zeros({2}), 1); }),
      misuse<InvalidArgument>("cumsum", "integers", "cumsum takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { cumsum(zeros({2}, DType::i64), 0); }),
      misuse<InvalidArgument>("cumsum", "a tensor that was moved from",
                              "cumsum takes f32 or bf16, got an undefined tensor",
                              [] { cumsum(moved_from_tensor(), 0); }),
      misuse<InvalidArgument>("reshape", "another number of elements", "f32 (2) on CPU:0 has no view of shape (3)",
                              [] { reshape(zeros({2}), {3}); }),
      misuse<InvalidArgument>("flatten", "a number", "flatten needs at least one axis, got f32 () on CPU:0",
                              [] { flatten(zeros(Shape())); }),
      misuse<InvalidArgument>("slice", "past the end", "slice [1, 3) is outside axis 0 of f32 (2) on CPU:0",
                              [] { slice(zeros({2}), 0, 1, 3); }),
      misuse<InvalidArgument>("slice", "a tensor that was moved from", "slice takes a tensor, got an undefined one",
                              [] { slice(moved_from_tensor(), 0, 0, 1); }),
      misuse<InvalidArgument>("matmul", "sizes that do not fit",
                              "matmul of (2, 3) and (2, 3): the rows of the first have 3 elements, the columns of the "
                              "second 2",
                              [] {
                                matmul(zeros({2, 3}), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("matmul", "batches that do not broadcast",
                              "matmul's leading axes: shapes (2) and (3) do not broadcast",
                              [] {
                                matmul(zeros({2, 1, 1}), zeros({3, 1, 1}));
                              }),
      misuse<InvalidArgument>("matmul", "a number", "matmul takes tensors of at least one axis, got f32 () on CPU:0",
                              [] { matmul(zeros({}), zeros({2})); }),
      misuse<InvalidArgument>("matmul", "two dtypes",
                              "matmul takes tensors of one dtype, got f32 (2) on CPU:0 and bf16 (2) on CPU:0; cast one",
                              [] { matmul(zeros({2}), zeros({2}, DType::bf16)); }),
      misuse<InvalidArgument>("matmul", "a tensor that was moved from",
                              "matmul takes f32 or bf16, got an undefined tensor",
                              [] { matmul(moved_from_tensor(), zeros({2})); }),
      misuse<InvalidArgument>("transpose", "an axis twice", "transpose: axis -1 of f32 (2, 3) on CPU:0 is given twice",
                              [] {
                                transpose(zeros({2, 3}), {1, -1});
                              }),
      misuse<InvalidArgument>("transpose", "some of the axes",
                              "transpose takes all 2 axes of f32 (2, 3) on CPU:0, got 1",
                              [] {
                                transpose(zeros({2, 3}), {1});
                              }),
      misuse<InvalidArgument>("transpose", "a tensor that was moved from",
                              "transpose takes a tensor, got an undefined one", [] { transpose(moved_from_tensor()); }),
      misuse<InvalidArgument>("zero_pad2d", "a negative border",
                              "zero_pad2d takes borders of at least 0, got -1, 0, 0 and 0",
                              [] {
                                zero_pad2d(zeros({1, 2, 2, 1}), {-1, 0, 0, 0});
                              }),
      misuse<InvalidArgument>("to_device", "a tensor that was moved from",
                              "to_device takes a tensor, got an undefined one",
                              [] { to_device(moved_from_tensor(), logical_cpus(1)[0]); }),
      misuse<InvalidArgument>("assign", "to another shape", "cannot assign f32 (2) on CPU:0 to f32 (3) on CPU:0",
                              [] { assign(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("assign", "a tensor that was moved from",
                              "cannot assign an undefined tensor to f32 (2) on CPU:0",
                              [] { assign(moved_from_tensor(), zeros({2})); }),
  };
}

/// Ops that layers use and that programs may call, too.
Rows layer_op_rows() {
  return {
      misuse<InvalidArgument>("dense", "a kernel of other inputs",
                              "dense: the kernel for x (2, 3) must be f32 (3, units), got f32 (2, 4) on CPU:0",
                              [] {
                                dense(zeros({2, 3}), zeros({2, 4}), {});
                              }),
      misuse<InvalidArgument>("dense", "a bias of other units",
                              "dense: the bias for kernel (3, 4) must be f32 (4), got f32 (3) on CPU:0",
                              [] {
                                dense(zeros({2, 3}), zeros({3, 4}), zeros({3}));
                              }),
      misuse<InvalidArgument>("dense", "a tensor that was moved from",
                              "dense: x must be f32 or bf16 (n, ..., inputs), got an undefined tensor",
                              [] {
                                dense(moved_from_tensor(), zeros({3, 4}), {});
                              }),
      misuse<InvalidArgument>("conv2d", "vectors",
                              "conv2d: x must be f32 or bf16 (n, height, width, channels), got f32 (2, 2) on CPU:0",
                              [] {
                                conv2d(zeros({2, 2}), zeros({1, 1, 1, 1}), {});
                              }),
      misuse<InvalidArgument>("conv2d", "a kernel of other channels",
                              "conv2d: the kernel for x (1, 4, 4, 3) must be f32 (height, width, 3, filters)",
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 2, 4}), {});
                              }),
      misuse<InvalidArgument>("conv2d", "a bias of other filters",
                              "conv2d: the bias for kernel (3, 3, 3, 4) must be f32 (4), got f32 (3) on CPU:0",
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 3, 4}), zeros({3}));
                              }),
      misuse<InvalidArgument>("conv2d", "a kernel without rows",
                              "conv2d: window and strides must be at least 1, got 0 x 3 and 1 x 1",
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({0, 3, 3, 4}), {});
                              }),
      misuse<InvalidArgument>("conv2d", "strides of 0",
                              "conv2d: window and strides must be at least 1, got 3 x 3 and 0 x 1",
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 3, 4}), {}, {.strides = {0, 1}});
                              }),
      misuse<InvalidArgument>("conv2d", "a dilation of 0", "conv2d: the dilation must be at least 1, got 0 x 1",
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 3, 4}), {}, {.dilation = {0, 1}});
                              }),
      misuse<InvalidArgument>("conv2d", "no groups", "conv2d: the 3 channels of x (1, 4, 4, 3) do not make 0 groups",
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 3, 4}), {}, {.groups = 0});
                              }),
      misuse<InvalidArgument>("conv2d", "a kernel that was moved from",
                              "filters a multiple of 1, got an undefined tensor",
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), moved_from_tensor(), {});
                              }),
      misuse<InvalidArgument>(
          "depthwise_conv2d", "a kernel of other channels",
          "depthwise_conv2d: the kernel for x (1, 4, 4, 3) must be f32 (height, width, 3, multiplier)",
          [] {
            depthwise_conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 2, 1}), {});
          }),
      misuse<InvalidArgument>("max_pool2d", "images smaller than the window",
                              "max_pool2d: the window of 2 x 2 does not fit into x (1, 1, 1, 1)",
                              [] {
                                max_pool2d(zeros({1, 1, 1, 1}));
                              }),
      misuse<InvalidArgument>("max_pool2d", "a window without rows",
                              "max_pool2d: window and strides must be at least 1, got 0 x 1 and 0 x 1",
                              [] {
                                max_pool2d(zeros({1, 2, 2, 1}), {.window = {0, 1}});
                              }),
      misuse<InvalidArgument>(
          "average_pool2d", "integers",
          "average_pool2d: x must be f32 or bf16 (n, height, width, channels), got i64 (1, 2, 2, 1)",
          [] {
            average_pool2d(zeros({1, 2, 2, 1}, DType::i64));
          }),
      misuse<InvalidArgument>(
          "average_pool2d", "a tensor that was moved from",
          "average_pool2d: x must be f32 or bf16 (n, height, width, channels), got an undefined tensor",
          [] { average_pool2d(moved_from_tensor()); }),
      misuse<InvalidArgument>("batch_norm", "a gamma of other channels",
                              "batch_norm: gamma for x (2, 2) must be dense f32 (2), got f32 (3) on CPU:0",
                              [] {
                                batch_norm(zeros({2, 2}), zeros({3}), zeros({2}));
                              }),
      misuse<InvalidArgument>("batch_norm", "a beta that was moved from",
                              "batch_norm: beta for x (2, 2) must be dense f32 (2), got an undefined tensor",
                              [] {
                                batch_norm(zeros({2, 2}), zeros({2}), moved_from_tensor());
                              }),
      misuse<InvalidArgument>(
          "batch_norm", "an output of another shape",
          "batch_norm: the output must be f32 (2, 2), dense or a channel slice, got f32 (2, 3) on CPU:0",
          [] {
            batch_norm(zeros({2, 2}), zeros({2}), zeros({2}), {.out = zeros({2, 3})});
          }),
      misuse<InvalidArgument>("batch_norm_inference", "a mean of other channels",
                              "batch_norm_inference: the mean for x (2, 2) must be dense f32 (2), got f32 (3) on CPU:0",
                              [] {
                                batch_norm_inference(zeros({2, 2}), zeros({2}), zeros({2}), zeros({3}), zeros({2}));
                              }),
      misuse<InvalidArgument>("update_moving_averages", "another shape",
                              "update_moving_averages: average and value must be dense f32 of one shape",
                              [] {
                                update_moving_averages({{zeros({2}), zeros({3}), 0.9F}});
                              }),
      misuse<InvalidArgument>("layer_norm", "a gamma of other features",
                              "layer_norm: gamma for x (2, 2) must be f32 (2), got f32 (3) on CPU:0",
                              [] {
                                layer_norm(zeros({2, 2}), zeros({3}), zeros({2}));
                              }),
      misuse<InvalidArgument>("layer_norm", "integers",
                              "layer_norm: x must be f32 (..., features), got i64 (2, 2) on CPU:0",
                              [] {
                                layer_norm(zeros({2, 2}, DType::i64), zeros({2}), zeros({2}));
                              }),
      misuse<InvalidArgument>("lstm", "no sequences",
                              "lstm: x must be f32 (n, time, features), got f32 (2, 3) on CPU:0",
                              [] {
                                lstm(zeros({2, 3}), zeros({3, 8}), zeros({2, 8}), zeros({8}));
                              }),
      misuse<InvalidArgument>("lstm", "a kernel of other features",
                              "lstm: the kernel for x (1, 2, 3) and recurrent kernel (2, 8) must be f32 (3, 8)",
                              [] {
                                lstm(zeros({1, 2, 3}), zeros({4, 8}), zeros({2, 8}), zeros({8}));
                              }),
      misuse<InvalidArgument>("lstm", "a bias that was moved from",
                              "lstm: the bias for recurrent kernel (2, 8) must be f32 (8), got an undefined tensor",
                              [] {
                                lstm(zeros({1, 2, 3}), zeros({3, 8}), zeros({2, 8}), moved_from_tensor());
                              }),
      misuse<InvalidArgument>("gru", "a recurrent kernel of other units",
                              "gru: the recurrent kernel must be f32 (units, 3 units), got f32 (3, 6) on CPU:0",
                              [] {
                                gru(zeros({1, 2, 3}), zeros({3, 6}), zeros({3, 6}), zeros({2, 6}));
                              }),
      misuse<InvalidArgument>("gru", "a tensor that was moved from",
                              "gru: x must be f32 (n, time, features), got an undefined tensor",
                              [] {
                                gru(moved_from_tensor(), zeros({3, 6}), zeros({2, 6}), zeros({2, 6}));
                              }),
      misuse<InvalidArgument>("dropout", "a rate of 1", "dropout takes a rate of at least 0 and less than 1, got 1",
                              [] { dropout(zeros({2}), 1, RandomKey()); }),
      misuse<InvalidArgument>("dropout", "integers", "dropout takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { dropout(zeros({2}, DType::i64), 0.5F, RandomKey()); }),
      misuse<InvalidArgument>("sparse_softmax_cross_entropy", "labels of another number",
                              "takes labels (n) or (n, 1) for logits (n, classes), got i64 (3) on CPU:0",
                              [] {
                                sparse_softmax_cross_entropy(zeros({2, 3}), zeros({3}, DType::i64));
                              }),
      misuse<InvalidArgument>(
          "sigmoid_cross_entropy", "targets of another shape",
          "sigmoid_cross_entropy takes targets of the shape of f32 (2) on CPU:0, got f32 (3) on CPU:0",
          [] { sigmoid_cross_entropy(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>(
          "binary_cross_entropy", "targets that were moved from",
          "binary_cross_entropy takes targets of the shape of f32 (2) on CPU:0, got an undefined tensor",
          [] { binary_cross_entropy(zeros({2}), moved_from_tensor()); }),
  };
}

Rows tape_rows() {
  return {
      misuse<LogicError>("GradientTape::gradient", "a second time",
                         "this tape has been used: a tape gives one set of gradients",
                         [] {
                           const Tensor x = zeros({1});
                           GradientTape tape;
                           tape.watch(x);
                           const Tensor y = exp(x);
                           tape.gradient(y, std::vector{x});
                           tape.gradient(y, std::vector{x});
                         }),
      misuse<LogicError>("GradientTape::gradient", "of what it has not seen",
                         "the target depends on no variable that trains",
                         [] {
                           GradientTape tape;
                           tape.gradient(zeros({1}), std::vector<Tensor>());
                         }),
      misuse<LogicError>("GradientTape::gradient", "from another thread", "a tape is used on another thread",
                         [] {
                           const Tensor x = zeros({1});
                           GradientTape tape;
                           tape.watch(x);
                           const Tensor y = exp(x);
                           on_another_thread([&] { tape.gradient(y, std::vector{x}); });
                         }),
      misuse<LogicError>("GradientTape::watch", "from another thread", "a tape is used on another thread",
                         [] {
                           GradientTape tape;
                           on_another_thread([&] { tape.watch(zeros({1})); });
                         }),
      misuse<InvalidArgument>("GradientTape::watch", "an undefined tensor", "watch() was given an undefined tensor",
                              [] { GradientTape().watch({}); }),
      misuse<InvalidArgument>("DeviceScope", "a device that is not there",
                              "CPU:64 does not exist; logical CPUs are CPU:0 .. CPU:63",
                              [] { const DeviceScope there("CPU:64"); }),
  };
}

}  // namespace

Rows op_rows() {
  const Rows rows{
      misuse<InvalidArgument>("add", "shapes that do not broadcast", "add: shapes (2) and (3) do not broadcast",
                              [] { add(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("add", "integers", "add takes f32 or bf16, got i64 (2) on CPU:0",
                              [] { add(zeros({2}, DType::i64), zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("add_n", "no tensor", "add_n needs at least one tensor", [] { add_n({}); }),
      misuse<InvalidArgument>("concat", "no tensor", "concat needs at least one tensor", [] { concat({}, 0); }),
      misuse<InvalidArgument>(
          "concat", "shapes that do not fit",
          "concat along axis 0 of f32 (2, 2) on CPU:0 and f32 (2, 3) on CPU:0: the other sizes must agree",
          [] {
            concat(std::vector{zeros({2, 2}), zeros({2, 3})}, 0);
          }),
      misuse<InvalidArgument>("sum", "an axis that is not there", "axis 1 is out of range for rank 1",
                              [] { sum(zeros({2}), {1}); }),
      misuse<InvalidArgument>("embedding_lookup", "an id that the table does not have",
                              "embedding_lookup: id 3 at place 0 is outside the 3 rows of the table",
                              [] {
                                embedding_lookup(zeros({3, 2}), Tensor::full({1}, 3, DType::i64));
                              }),
      misuse<InvalidArgument>("sparse_softmax_cross_entropy", "a label that is no class",
                              "label 3 in row 0 is outside [0, 3)",
                              [] {
                                sparse_softmax_cross_entropy(zeros({1, 3}), Tensor::full({1}, 3, DType::i64));
                              }),
      misuse<InvalidArgument>("argmax", "a number", "argmax needs at least one axis, got f32 () on CPU:0",
                              [] { argmax(zeros({})); }),
      misuse<InvalidArgument>("zero_pad2d", "no images",
                              "zero_pad2d: x must be f32 or bf16 (n, height, width, channels), got f32 (2) on CPU:0",
                              [] { zero_pad2d(zeros({2}), {}); }),
  };
  return joined({rows, moved_from_op_rows(), elementwise_rows(), layer_op_rows(), tape_rows()});
}

}  // namespace lockstep::test
