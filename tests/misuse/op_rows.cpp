#include <cmath>

#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/statistics.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/convolution/conv2d_transpose.h>
#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/crop_and_flip.h>
#include <lockstep/kernels/image/depth_to_space.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/linear_algebra/norm.h>
#include <lockstep/kernels/linear_algebra/svd.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/normalization/layer_norm.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/random/normal.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/kernels/scan/scan.h>

#include "rows.h"

namespace lockstep::test {
namespace {

Rows moved_from_op_rows() {
  return {
      misuse<InvalidArgument>("embedding_lookup", "ids that were moved from", {"got an undefined tensor"},
                              [] {
                                embedding_lookup(zeros({3, 2}), moved_from_tensor());
                              }),
      misuse<InvalidArgument>("sparse_softmax_cross_entropy", "labels that were moved from",
                              {"got an undefined tensor"},
                              [] {
                                sparse_softmax_cross_entropy(zeros({2, 3}), moved_from_tensor());
                              }),
  };
}

Rows elementwise_rows() {
  return {
      misuse<InvalidArgument>("subtract", "shapes that do not broadcast", {"subtract", "(2)", "(3)"},
                              [] { subtract(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("soft_shrink", "a negative threshold", {"soft_shrink", "got -1"},
                              [] { soft_shrink(zeros({2}), -1); }),
      misuse<InvalidArgument>("argmax", "a tensor that was moved from", {"argmax", "got an undefined one"},
                              [] { argmax(moved_from_tensor()); }),
      misuse<InvalidArgument>("maximum", "shapes that do not broadcast", {"maximum", "(2)", "(3)"},
                              [] { maximum(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("minimum", "of two dtypes", {"minimum", "f32 (2)", "bf16 (2)"},
                              [] { minimum(zeros({2}), zeros({2}, DType::bf16)); }),
      misuse<InvalidArgument>("leaky_relu", "a negative slope", {"leaky_relu", "negative_slope", "got -1"},
                              [] { leaky_relu(zeros({2}), -1); }),
      misuse<InvalidArgument>("elu", "a negative alpha", {"elu", "got -1"}, [] { elu(zeros({2}), -1); }),
      misuse<InvalidArgument>("softmax", "a number", {"softmax", "f32 ()"}, [] { softmax(zeros(Shape())); }),
      misuse<InvalidArgument>("log_softmax", "a number", {"log_softmax", "f32 ()"},
                              [] { log_softmax(zeros(Shape())); }),
      misuse<InvalidArgument>("softmax", "no axes", {"softmax", "f32 (2)"}, [] { softmax(zeros({2}), {}); }),
      misuse<InvalidArgument>("log_softmax", "an axis that is not there", {"axis 1"},
                              [] { log_softmax(zeros({2}), {1}); }),
      misuse<InvalidArgument>("normal", "a negative stddev", {"normal", "stddev", "got 0 and -1"},
                              [] { normal({2}, 0, -1, [] { return RandomKey(); }); }),
      misuse<InvalidArgument>("normal", "integers", {"normal", "i32"},
                              [] {
                                normal(
                                    {2}, 0, 1, [] { return RandomKey(); }, DType::i32);
                              }),
      misuse<InvalidArgument>("mean", "an axis that is not there", {"axis 1"}, [] { mean(zeros({2}), {1}); }),
      misuse<InvalidArgument>("sum", "an axis twice", {"axis 0", "(2, 2)"},
                              [] {
                                sum(zeros({2, 2}), {0, 0});
                              }),
      misuse<InvalidArgument>("argmax", "a last axis without elements", {"argmax", "f32 (2, 0)"},
                              [] {
                                argmax(zeros({2, 0}), -1);
                              }),
      misuse<InvalidArgument>("argmin", "an axis that is not there", {"axis 2"},
                              [] {
                                argmin(zeros({2, 2}), 2);
                              }),
      misuse<InvalidArgument>("max", "an axis without elements", {"max", "f32 (2, 0)"},
                              [] {
                                max(zeros({2, 0}), {1});
                              }),
      misuse<InvalidArgument>("all", "an axis twice", {"axis -1", "(2, 2)"},
                              [] {
                                all(zeros({2, 2}, DType::boolean), {1, -1});
                              }),
      misuse<InvalidArgument>("var", "an axis twice", {"axis -1", "(2, 2)"},
                              [] {
                                var(zeros({2, 2}), {1, -1});
                              }),
      misuse<InvalidArgument>("clip", "bounds in the wrong order", {"clip", "1", "-1"},
                              [] { clip(zeros({2}), 1, -1); }),
      misuse<InvalidArgument>("svd", "a vector", {"svd", "matrices", "f32 (2)"}, [] { svd(zeros({2})); }),
      misuse<InvalidArgument>("norm", "a name that is no order", {"norm", "fro and nuc", "got l2"},
                              [] {
                                norm(zeros({2, 2}), {0, 1}, false, "l2");
                              }),
      misuse<InvalidArgument>("negative", "bools", {"negative", "bool (2)"},
                              [] { negative(zeros({2}, DType::boolean)); }),
      misuse<InvalidArgument>("add", "a fraction and integers", {"add", "0.5", "i32 (2)"},
                              [] { zeros({2}, DType::i32) + 0.5; }),
      misuse<InvalidArgument>("less", "two dtypes", {"less", "f32 (2)", "i64 (2)"},
                              [] { less(zeros({2}), zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("equal", "a number that the dtype does not hold", {"equal", "256", "u8 (2)"},
                              [] { equal(zeros({2}, DType::u8), 256); }),
      misuse<InvalidArgument>("where", "a condition of numbers", {"where", "bool", "f32 (2)"},
                              [] { where(zeros({2}), zeros({2}), 1.0); }),
      misuse<InvalidArgument>("sort", "an axis that is not there", {"axis 1"}, [] { sort(zeros({2}), 1); }),
      misuse<InvalidArgument>("argsort", "a number", {"axis -1"}, [] { argsort(zeros({})); }),
      misuse<InvalidArgument>("argsort", "a tensor that was moved from", {"argsort", "got an undefined one"},
                              [] { argsort(moved_from_tensor()); }),
      misuse<InvalidArgument>("top_k", "none of the elements", {"top_k", "f32 (2)", "got 0"},
                              [] { top_k(zeros({2}), 0); }),
      misuse<InvalidArgument>("top_k", "more elements than there are", {"top_k", "f32 (2)", "got 3"},
                              [] { top_k(zeros({2}), 3); }),
      misuse<InvalidArgument>("top_k", "a number", {"top_k", "f32 ()"}, [] { top_k(zeros({}), 1); }),
      misuse<InvalidArgument>("resize", "no columns", {"resize", "4 x 0"},
                              [] {
                                resize(zeros({4, 4, 3}), {4, 0});
                              }),
      misuse<InvalidArgument>("crop_and_flip", "one crop for two images", {"crop_and_flip", "f32 (1, 6)"},
                              [] {
                                crop_and_flip(zeros({2, 4, 4, 3}), zeros({1, 6}), {.size = 2});
                              }),
      misuse<InvalidArgument>("crop_and_flip", "one image", {"crop_and_flip", "f32 (4, 4, 3)"},
                              [] {
                                crop_and_flip(zeros({4, 4, 3}), zeros({1, 6}), {.size = 2});
                              }),
      misuse<InvalidArgument>("crop_and_flip", "no size", {"crop_and_flip", "at least 1 x 1", "got 0 x 0"},
                              [] {
                                crop_and_flip(zeros({1, 4, 4, 3}), zeros({1, 6}), {});
                              }),
      misuse<InvalidArgument>("crop_and_flip", "a fill value of NaN", {"crop_and_flip", "finite fill_value", "got nan"},
                              [] {
                                crop_and_flip(zeros({1, 4, 4, 3}), zeros({1, 6}), {.size = 2, .fill_value = NAN});
                              }),
      misuse<InvalidArgument>("crop_and_flip", "a fill value beyond f32", {"crop_and_flip", "of f32, got 1e+39"},
                              [] {
                                crop_and_flip(zeros({1, 4, 4, 3}), zeros({1, 6}), {.size = 2, .fill_value = 1e39});
                              }),
      misuse<InvalidArgument>("affine_transform", "a fill value beyond f32", {"affine_transform", "of f32, got -1e+39"},
                              [] {
                                affine_transform(zeros({1, 4, 4, 3}), zeros({1, 8}), {.fill_value = -1e39});
                              }),
      misuse<InvalidArgument>("affine_transform", "one transform for two images", {"affine_transform", "f32 (1, 8)"},
                              [] {
                                affine_transform(zeros({2, 4, 4, 3}), zeros({1, 8}));
                              }),
      misuse<InvalidArgument>(
          "affine_transform", "an interpolation that it does not have", {"affine_transform", "nearest"},
          [] {
            affine_transform(zeros({1, 4, 4, 3}), zeros({1, 8}), {.interpolation = Interpolation::bicubic});
          }),
      misuse<InvalidArgument>("cumsum", "an axis that is not there", {"axis 1"}, [] { cumsum(zeros({2}), 1); }),
      misuse<InvalidArgument>("diff", "a negative n", {"diff", "got -1"}, [] { diff(zeros({2}), -1); }),
      misuse<InvalidArgument>("diff", "no step along an axis that is not there", {"axis 1"},
                              [] { diff(zeros({2}), 0, 1); }),
      misuse<InvalidArgument>("isclose", "shapes that do not broadcast", {"isclose", "(2)", "(3)"},
                              [] { isclose(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("average", "weights of another shape", {"average", "f32 (2, 3)", "f32 (2)"},
                              [] {
                                average(zeros({2, 3}), 1, zeros({2}));
                              }),
      misuse<InvalidArgument>("depth_to_space", "a block_size that overflows",
                              {"depth_to_space", "2^20", "got 4294967296"},
                              [] {
                                depth_to_space(zeros({1, 1, 1, 4}), std::int64_t{1} << 32);
                              }),
      misuse<InvalidArgument>("depth_to_space", "channels that cannot be divided",
                              {"depth_to_space", "3 channels", "4 pixels"},
                              [] {
                                depth_to_space(zeros({1, 1, 1, 3}), 2);
                              }),
      misuse<InvalidArgument>("space_to_depth", "a height that is no multiple", {"space_to_depth", "multiples of 2"},
                              [] {
                                space_to_depth(zeros({1, 3, 2, 1}), 2);
                              }),
      misuse<InvalidArgument>("space_to_depth", "no images", {"space_to_depth", "f32 (2)"},
                              [] { space_to_depth(zeros({2}), 2); }),
      misuse<InvalidArgument>("reshape", "another number of elements", {"f32 (2)", "(3)"},
                              [] { reshape(zeros({2}), {3}); }),
      misuse<InvalidArgument>("flatten", "a number", {"flatten", "f32 ()"}, [] { flatten(zeros(Shape())); }),
      misuse<InvalidArgument>("slice", "past the end", {"slice", "[1, 3) is outside axis 0 of f32 (2)"},
                              [] { slice(zeros({2}), 0, 1, 3); }),
      misuse<InvalidArgument>("matmul", "sizes that do not fit", {"matmul", "(2, 3)"},
                              [] {
                                matmul(zeros({2, 3}), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("matmul", "batches that do not broadcast", {"matmul", "(2)", "(3)"},
                              [] {
                                matmul(zeros({2, 1, 1}), zeros({3, 1, 1}));
                              }),
      misuse<InvalidArgument>("matmul", "a number", {"matmul", "f32 ()"}, [] { matmul(zeros({}), zeros({2})); }),
      misuse<InvalidArgument>("matmul", "two dtypes", {"matmul", "f32 (2)", "bf16 (2)"},
                              [] { matmul(zeros({2}), zeros({2}, DType::bf16)); }),
      misuse<InvalidArgument>("transpose", "an axis twice", {"transpose", "axis -1", "f32 (2, 3)"},
                              [] {
                                transpose(zeros({2, 3}), {1, -1});
                              }),
      misuse<InvalidArgument>("transpose", "some of the axes", {"transpose", "f32 (2, 3)", "got 1"},
                              [] {
                                transpose(zeros({2, 3}), {1});
                              }),
      misuse<InvalidArgument>("zero_pad2d", "a negative border", {"zero_pad2d", "got -1, 0, 0 and 0"},
                              [] {
                                zero_pad2d(zeros({1, 2, 2, 1}), {-1, 0, 0, 0});
                              }),
      misuse<InvalidArgument>("to_device", "a tensor that was moved from", {"to_device", "undefined"},
                              [] { to_device(moved_from_tensor(), logical_cpus(1)[0]); }),
      misuse<InvalidArgument>("assign", "to another shape", {"assign", "f32 (2)", "f32 (3)"},
                              [] { assign(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("assign", "a tensor that was moved from", {"assign", "undefined", "f32 (2)"},
                              [] { assign(moved_from_tensor(), zeros({2})); }),
  };
}

/// Ops that layers use and that programs may call, too.
Rows layer_op_rows() {
  return {
      misuse<InvalidArgument>("dense", "a kernel of other inputs", {"dense", "(2, 3)", "f32 (2, 4)"},
                              [] {
                                dense(zeros({2, 3}), zeros({2, 4}), {});
                              }),
      misuse<InvalidArgument>("dense", "a bias of other units", {"dense", "(3, 4)", "f32 (3)"},
                              [] {
                                dense(zeros({2, 3}), zeros({3, 4}), zeros({3}));
                              }),
      misuse<InvalidArgument>("conv2d_transpose", "a kernel for other channels",
                              {"conv2d_transpose", "(1, 4, 4, 3)", "(3, 3, 2, 5)"},
                              [] {
                                conv2d_transpose(zeros({1, 4, 4, 3}), zeros({3, 3, 2, 5}), {});
                              }),
      misuse<InvalidArgument>(
          "conv2d_transpose", "an output_padding that is not below the strides",
          {"conv2d_transpose", "output_padding", "got 2 x 2 for 2 x 2"},
          [] {
            conv2d_transpose(zeros({1, 4, 4, 3}), zeros({3, 3, 2, 3}), {}, {.strides = 2, .output_padding = 2});
          }),
      misuse<InvalidArgument>("conv2d_transpose", "a result without pixels",
                              {"conv2d_transpose", "(1, 1, 4, 3)", "0 x 4"},
                              [] {
                                conv2d_transpose(zeros({1, 1, 4, 3}), zeros({2, 3, 2, 3}), {},
                                                 {.padding = Padding::same, .output_padding = 0});
                              }),
      misuse<InvalidArgument>("conv2d", "vectors", {"conv2d", "f32 (2, 2)"},
                              [] {
                                conv2d(zeros({2, 2}), zeros({1, 1, 1, 1}), {});
                              }),
      misuse<InvalidArgument>("conv2d", "a kernel of other channels", {"conv2d", "(1, 4, 4, 3)"},
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 2, 4}), {});
                              }),
      misuse<InvalidArgument>("conv2d", "a bias of other filters", {"conv2d", "(3, 3, 3, 4)", "f32 (3)"},
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 3, 4}), zeros({3}));
                              }),
      misuse<InvalidArgument>("conv2d", "a kernel without rows", {"conv2d", "got 0", "1 x 1"},
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({0, 3, 3, 4}), {});
                              }),
      misuse<InvalidArgument>("conv2d", "strides of 0", {"conv2d", "got 3", "0 x 1"},
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 3, 4}), {}, {.strides = {0, 1}});
                              }),
      misuse<InvalidArgument>("conv2d", "a dilation of 0", {"conv2d", "got 0"},
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 3, 4}), {}, {.dilation = {0, 1}});
                              }),
      misuse<InvalidArgument>("conv2d", "no groups", {"conv2d", "(1, 4, 4, 3)"},
                              [] {
                                conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 3, 4}), {}, {.groups = 0});
                              }),
      misuse<InvalidArgument>("depthwise_conv2d", "a kernel of other channels", {"depthwise_conv2d", "(1, 4, 4, 3)"},
                              [] {
                                depthwise_conv2d(zeros({1, 4, 4, 3}), zeros({3, 3, 2, 1}), {});
                              }),
      misuse<InvalidArgument>("max_pool2d", "images smaller than the window", {"max_pool2d", "2 x 2", "(1, 1, 1, 1)"},
                              [] {
                                max_pool2d(zeros({1, 1, 1, 1}));
                              }),
      misuse<InvalidArgument>("max_pool2d", "a window without rows", {"max_pool2d", "got 0", "0 x 1"},
                              [] {
                                max_pool2d(zeros({1, 2, 2, 1}), {.window = {0, 1}});
                              }),
      misuse<InvalidArgument>("average_pool2d", "integers", {"average_pool2d", "i64 (1, 2, 2, 1)"},
                              [] {
                                average_pool2d(zeros({1, 2, 2, 1}, DType::i64));
                              }),
      misuse<InvalidArgument>("average_pool2d", "a tensor that was moved from",
                              {"average_pool2d", "got an undefined tensor"},
                              [] { average_pool2d(moved_from_tensor()); }),
      misuse<InvalidArgument>("batch_norm", "a gamma of other channels", {"batch_norm", "(2, 2)", "f32 (3)"},
                              [] {
                                batch_norm(zeros({2, 2}), zeros({3}), zeros({2}));
                              }),
      misuse<InvalidArgument>("batch_norm", "an output of another shape", {"batch_norm", "f32 (2, 2)", "f32 (2, 3)"},
                              [] {
                                batch_norm(zeros({2, 2}), zeros({2}), zeros({2}), {.out = zeros({2, 3})});
                              }),
      misuse<InvalidArgument>("batch_norm_inference", "a mean of other channels",
                              {"batch_norm_inference", "(2, 2)", "f32 (3)"},
                              [] {
                                batch_norm_inference(zeros({2, 2}), zeros({2}), zeros({2}), zeros({3}), zeros({2}));
                              }),
      misuse<InvalidArgument>("update_moving_averages", "another shape", {"update_moving_averages"},
                              [] {
                                update_moving_averages({{zeros({2}), zeros({3}), 0.9F}});
                              }),
      misuse<InvalidArgument>("layer_norm", "a gamma of other features", {"layer_norm", "(2, 2)", "f32 (3)"},
                              [] {
                                layer_norm(zeros({2, 2}), zeros({3}), zeros({2}));
                              }),
      misuse<InvalidArgument>("lstm", "no sequences", {"lstm", "f32 (2, 3)"},
                              [] {
                                lstm(zeros({2, 3}), zeros({3, 8}), zeros({2, 8}), zeros({8}));
                              }),
      misuse<InvalidArgument>("lstm", "a kernel of other features", {"lstm", "(1, 2, 3)", "f32 (3, 8)"},
                              [] {
                                lstm(zeros({1, 2, 3}), zeros({4, 8}), zeros({2, 8}), zeros({8}));
                              }),
      misuse<InvalidArgument>("gru", "a recurrent kernel of other units", {"gru", "f32 (3, 6)"},
                              [] {
                                gru(zeros({1, 2, 3}), zeros({3, 6}), zeros({3, 6}), zeros({2, 6}));
                              }),
      misuse<InvalidArgument>("dropout", "a rate of 1", {"dropout", "got 1"},
                              [] { dropout(zeros({2}), 1, RandomKey()); }),
      misuse<InvalidArgument>("sparse_softmax_cross_entropy", "labels of another number", {"i64 (3)"},
                              [] {
                                sparse_softmax_cross_entropy(zeros({2, 3}), zeros({3}, DType::i64));
                              }),
      misuse<InvalidArgument>("sigmoid_cross_entropy", "targets of another shape",
                              {"sigmoid_cross_entropy", "f32 (2)", "f32 (3)"},
                              [] { sigmoid_cross_entropy(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("binary_cross_entropy", "targets that were moved from",
                              {"binary_cross_entropy", "f32 (2)", "got an undefined tensor"},
                              [] { binary_cross_entropy(zeros({2}), moved_from_tensor()); }),
  };
}

Rows tape_rows() {
  return {
      misuse<LogicError>("GradientTape::gradient", "a second time", {"used"},
                         [] {
                           const Tensor x = zeros({1});
                           GradientTape tape;
                           tape.watch(x);
                           const Tensor y = exp(x);
                           tape.gradient(y, std::vector{x});
                           tape.gradient(y, std::vector{x});
                         }),
      misuse<LogicError>("GradientTape::gradient", "of what it has not seen", {"depends on no variable"},
                         [] {
                           GradientTape tape;
                           tape.gradient(zeros({1}), std::vector<Tensor>());
                         }),
      misuse<LogicError>("GradientTape::gradient", "from another thread", {"thread"},
                         [] {
                           const Tensor x = zeros({1});
                           GradientTape tape;
                           tape.watch(x);
                           const Tensor y = exp(x);
                           on_another_thread([&] { tape.gradient(y, std::vector{x}); });
                         }),
      misuse<LogicError>("GradientTape::watch", "from another thread", {"thread"},
                         [] {
                           GradientTape tape;
                           on_another_thread([&] { tape.watch(zeros({1})); });
                         }),
      misuse<InvalidArgument>("GradientTape::watch", "an undefined tensor", {"watch()", "undefined"},
                              [] { GradientTape().watch({}); }),
      misuse<InvalidArgument>("DeviceScope", "a device that is not there", {"CPU:64", "PUs", "CPU:63"},
                              [] { const DeviceScope there("CPU:64"); }),
  };
}

}  // namespace

Rows op_rows() {
  const Rows rows{
      misuse<InvalidArgument>("add", "shapes that do not broadcast", {"add", "(2)", "(3)"},
                              [] { add(zeros({2}), zeros({3})); }),
      misuse<InvalidArgument>("add_n", "no tensor", {"add_n"}, [] { add_n({}); }),
      misuse<InvalidArgument>("concatenate", "no tensor", {"concatenate"}, [] { concatenate({}, 0); }),
      misuse<InvalidArgument>("concatenate", "shapes that do not fit", {"concatenate", "axis 0", "f32 (2, 3)"},
                              [] {
                                concatenate(std::vector{zeros({2, 2}), zeros({2, 3})}, 0);
                              }),
      misuse<InvalidArgument>("sum", "an axis that is not there", {"axis 1"}, [] { sum(zeros({2}), {1}); }),
      misuse<InvalidArgument>("embedding_lookup", "an id that the table does not have", {"embedding_lookup"},
                              [] {
                                embedding_lookup(zeros({3, 2}), Tensor::full({1}, 3, DType::i64));
                              }),
      misuse<InvalidArgument>("sparse_softmax_cross_entropy", "a label that is no class", {"label 3", "[0, 3)"},
                              [] {
                                sparse_softmax_cross_entropy(zeros({1, 3}), Tensor::full({1}, 3, DType::i64));
                              }),
      misuse<InvalidArgument>("argmax", "an axis of a number", {"axis 0"}, [] { argmax(zeros({}), 0); }),
      misuse<InvalidArgument>("zero_pad2d", "no images", {"zero_pad2d", "f32 (2)"}, [] { zero_pad2d(zeros({2}), {}); }),
  };
  return joined({rows, moved_from_op_rows(), elementwise_rows(), layer_op_rows(), tape_rows()});
}

}  // namespace lockstep::test
