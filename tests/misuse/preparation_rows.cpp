#include "rows.h"

namespace lockstep::test {

Rows preparation_rows() {
  return {
      misuse<InvalidArgument>("resize_bilinear", "to no rows", "an image of 2 x 2 pixels cannot become one of 0 x 1",
                              [] {
                                resize_bilinear(zeros({2, 2, 1}), {0, 1});
                              }),
      misuse<InvalidArgument>(
          "resize_bilinear", "no channels",
          "an image to resize must be u8 or f32 of shape (height, width, 1 or 3 channels), got f32 (2, 2)",
          [] {
            resize_bilinear(zeros({2, 2}), {1, 1});
          }),
      misuse<InvalidArgument>("image_augmentation", "a negative range", "a shift range must be 0 or more, got -1",
                              [] { image_augmentation({.width_shift_range = -1}); }),
      misuse<InvalidArgument>("image_augmentation", "vectors",
                              "an image to augment must be u8 or f32 of shape (height, width)",
                              [] { image_augmentation({})(Example{{zeros({2})}}, ElementId()); }),
      misuse<InvalidArgument>("image_augmentation", "an example without x",
                              "(height, width, channels), got an undefined tensor; map before batch()",
                              [] { image_augmentation({})(Example(), ElementId()); }),
      misuse<InvalidArgument>("random_crop", "no rows",
                              "a crop needs a size of at least 1 x 1 and a padding of at least 0, got 0 x 1 and 0",
                              [] {
                                random_crop({.size = {0, 1}});
                              }),
      misuse<InvalidArgument>("random_crop", "images that are too small",
                              "an image f32 (2, 2) on CPU:0 with a padding of 0 is too small for a crop of 4 x 4",
                              [] {
                                random_crop({.size = {4, 4}})(Example{{zeros({2, 2})}}, ElementId());
                              }),
      misuse<InvalidArgument>(
          "mean_image", "floats",
          "images must be u8 of shape (n, height, width) or (n, height, width, channels), got f32 (2, 2, 2)",
          [] {
            mean_image(zeros({2, 2, 2}));
          }),
      misuse<InvalidArgument>("mean_image", "a tensor that was moved from",
                              "(n, height, width, channels), got an undefined tensor",
                              [] { mean_image(moved_from(zeros({2}))); }),
      misuse<InvalidArgument>("mean_subtraction", "a mean of integers",
                              "a mean image must be f32, got i64 (2) on CPU:0",
                              [] { mean_subtraction(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("mean_subtraction", "images of another shape",
                              "images f32 (2, 3) on CPU:0 are not of the shape of their mean f32 (2) on CPU:0",
                              [] {
                                mean_subtraction(zeros({2}))(Example{{zeros({2, 3})}});
                              }),
      misuse<InvalidArgument>("image_preparation", "a mean that is no image",
                              "the mean image must be f32 of shape (height, width), got f32 (3) on CPU:0",
                              [] { image_preparation({.mean = zeros({3})}); }),
      misuse<InvalidArgument>("image_preparation", "no channels",
                              "images need a padding of at least 0 and at least 1 channel, got 2 and 0",
                              [] {
                                image_preparation({.mean = zeros({2, 2}), .channels = 0});
                              }),
      misuse<InvalidArgument>("image_preparation", "floats",
                              "images must be u8 of shape (n, height, width), got f32 (1, 2, 2) on CPU:0",
                              [] {
                                image_preparation({.mean = zeros({2, 2})})(Example{{zeros({1, 2, 2})}});
                              }),
      misuse<InvalidArgument>("one_hot", "no classes", "one_hot() needs at least 1 class, got 0", [] { one_hot(0); }),
      misuse<InvalidArgument>("one_hot", "labels that are floats",
                              "labels for one_hot() must be u8, i32 or i64, got f32 (2) on CPU:0",
                              [] {
                                one_hot(3)(Example{{zeros({2})}, {zeros({2})}});
                              }),
      misuse<InputError>("one_hot", "a label that is no class", "label 3 is not in 0 to 2",
                         [] {
                           one_hot(3)(Example{{zeros({1})}, {Tensor::full({1}, 3, DType::i64)}});
                         }),
      misuse<InvalidArgument>("mixup", "an alpha of 0", "mixup() needs an alpha above 0 and at most 4, got 0",
                              [] { mixup({.alpha = 0}); }),
      misuse<InvalidArgument>("mixup", "no targets",
                              "mixup() needs batches of f32 x and y, got f32 (2, 2) on CPU:0 and an undefined tensor",
                              [] {
                                mixup()(Example{{zeros({2, 2})}}, ElementId());
                              }),
      misuse<InvalidArgument>(
          "channel_statistics", "no images",
          "statistics of channels need images u8 or f32 of shape (.., channels), got f32 (0, 2) on CPU:0",
          [] {
            channel_statistics(zeros({0, 2}));
          }),
      misuse<InvalidArgument>(
          "channel_normalization", "a variance of other channels",
          "mean and variance of channels must be f32 of shape (channels), got f32 (2) on CPU:0 and f32 (3)",
          [] {
            channel_normalization({zeros({2}), zeros({3})});
          }),
      misuse<InvalidArgument>(
          "channel_normalization", "images of other channels",
          "images to normalize by channel must be u8 or f32 with 2 channels last, got f32 (2, 3) on CPU:0",
          [] {
            channel_normalization({zeros({2}), zeros({2})})(Example{{zeros({2, 3})}});
          }),
  };
}

}  // namespace lockstep::test
