#include "rows.h"

namespace lockstep::test {

Rows preparation_rows() {
  return {
      misuse<InvalidArgument>("resize_bilinear", "to no rows", {"2 x 2", "0 x 1"},
                              [] {
                                resize_bilinear(zeros({2, 2, 1}), {0, 1});
                              }),
      misuse<InvalidArgument>("resize_bilinear", "no channels", {"f32 (2, 2)"},
                              [] {
                                resize_bilinear(zeros({2, 2}), {1, 1});
                              }),
      misuse<InvalidArgument>("image_augmentation", "a negative range", {"got -1"},
                              [] { image_augmentation({.width_shift_range = -1}); }),
      misuse<InvalidArgument>("image_augmentation", "vectors", {"(height, width)"},
                              [] { image_augmentation({})(Example{{zeros({2})}}, ElementId()); }),
      misuse<InvalidArgument>("image_augmentation", "an example without x", {"got an undefined tensor", "batch()"},
                              [] { image_augmentation({})(Example(), ElementId()); }),
      misuse<InvalidArgument>("random_crop", "no rows", {"1 x 1", "got 0"},
                              [] {
                                random_crop({.size = {0, 1}});
                              }),
      misuse<InvalidArgument>("random_crop", "images that are too small", {"f32 (2, 2)", "4 x 4"},
                              [] {
                                random_crop({.size = {4, 4}})(Example{{zeros({2, 2})}}, ElementId());
                              }),
      misuse<InvalidArgument>("mean_image", "floats", {"f32 (2, 2, 2)"},
                              [] {
                                mean_image(zeros({2, 2, 2}));
                              }),
      misuse<InvalidArgument>("mean_image", "a tensor that was moved from", {"got an undefined tensor"},
                              [] { mean_image(moved_from(zeros({2}))); }),
      misuse<InvalidArgument>("mean_subtraction", "a mean of integers", {"i64 (2)"},
                              [] { mean_subtraction(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("mean_subtraction", "images of another shape", {"f32 (2, 3)", "f32 (2)"},
                              [] {
                                mean_subtraction(zeros({2}))(Example{{zeros({2, 3})}});
                              }),
      misuse<InvalidArgument>("image_preparation", "a mean that is no image", {"f32 (3)"},
                              [] { image_preparation({.mean = zeros({3})}); }),
      misuse<InvalidArgument>("image_preparation", "no channels", {"got 2 and 0"},
                              [] {
                                image_preparation({.mean = zeros({2, 2}), .channels = 0});
                              }),
      misuse<InvalidArgument>("image_preparation", "floats", {"f32 (1, 2, 2)"},
                              [] {
                                image_preparation({.mean = zeros({2, 2})})(Example{{zeros({1, 2, 2})}});
                              }),
      misuse<InvalidArgument>("one_hot", "no classes", {"one_hot()", "got 0"}, [] { one_hot(0); }),
      misuse<InvalidArgument>("one_hot", "labels that are floats", {"one_hot()", "f32 (2)"},
                              [] {
                                one_hot(3)(Example{{zeros({2})}, {zeros({2})}});
                              }),
      misuse<InputError>("one_hot", "a label that is no class", {"label 3"},
                         [] {
                           one_hot(3)(Example{{zeros({1})}, {Tensor::full({1}, 3, DType::i64)}});
                         }),
      misuse<InvalidArgument>("mixup", "an alpha of 0", {"mixup()", "got 0"}, [] { mixup({.alpha = 0}); }),
      misuse<InvalidArgument>("mixup", "no targets", {"mixup()", "f32 (2, 2)", "undefined"},
                              [] {
                                mixup()(Example{{zeros({2, 2})}}, ElementId());
                              }),
      misuse<InvalidArgument>("channel_statistics", "no images", {"f32 (0, 2)"},
                              [] {
                                channel_statistics(zeros({0, 2}));
                              }),
      misuse<InvalidArgument>("channel_normalization", "a variance of other channels", {"f32 (2)", "f32 (3)"},
                              [] {
                                channel_normalization({zeros({2}), zeros({3})});
                              }),
      misuse<InvalidArgument>("channel_normalization", "images of other channels", {"f32 (2, 3)"},
                              [] {
                                channel_normalization({zeros({2}), zeros({2})})(Example{{zeros({2, 3})}});
                              }),
  };
}

}  // namespace lockstep::test
