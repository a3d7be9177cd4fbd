#include "lockstep/models/zoo/inception_v3.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/models/layers/merge.h>
#include <lockstep/models/zoo/image_model.h>
#include <lockstep/models/zoo/inception.h>

// Follows keras/src/applications/inception_v3.py layer by layer.

namespace lockstep::zoo {
namespace {

using detail::inception_branch;
using detail::inception_conv;
using detail::pooling_branch;

Symbol mixed(int number, const std::vector<Symbol>& branches) {
  return Concatenate({.name = fmt::format("mixed{}", number)})(branches);
}

/// Blocks 0 to 2.
Symbol mixed_5x5(const Symbol& x, int number, std::int64_t pooled_filters) {
  const Symbol branch_1x1 = inception_conv(x, {64, 1});
  const Symbol branch_5x5 = inception_branch(x, {{48, 1}, {64, 5}});
  const Symbol branch_3x3 = inception_branch(x, {{64, 1}, {96, 3}, {96, 3}});
  return mixed(number, {branch_1x1, branch_5x5, branch_3x3, pooling_branch(x, pooled_filters)});
}

/// Blocks 4 to 7.
Symbol mixed_7x7(const Symbol& x, int number, std::int64_t filters) {
  const Symbol branch_1x1 = inception_conv(x, {192, 1});
  const Symbol branch_7x7 = inception_branch(x, {{filters, 1}, {filters, {1, 7}}, {192, {7, 1}}});
  const Symbol branch_7x7_twice =
      inception_branch(x, {{filters, 1}, {filters, {7, 1}}, {filters, {1, 7}}, {filters, {7, 1}}, {192, {1, 7}}});
  return mixed(number, {branch_1x1, branch_7x7, branch_7x7_twice, pooling_branch(x, 192)});
}

/// Block 3, which halves the image.
Symbol mixed_3(const Symbol& x) {
  const Symbol branch_3x3 = inception_conv(x, {384, 3, 2, Padding::valid});
  const Symbol branch_3x3_twice = inception_branch(x, {{64, 1}, {96, 3}, {96, 3, 2, Padding::valid}});
  return mixed(3, {branch_3x3, branch_3x3_twice, detail::halving_pool(x)});
}

/// Block 8, which halves the image.
Symbol mixed_8(const Symbol& x) {
  const Symbol branch_3x3 = inception_branch(x, {{192, 1}, {320, 3, 2, Padding::valid}});
  const Symbol branch_7x7 = inception_branch(x, {{192, 1}, {192, {1, 7}}, {192, {7, 1}}, {192, 3, 2, Padding::valid}});
  return mixed(8, {branch_3x3, branch_7x7, detail::halving_pool(x)});
}

/// A convolution of 1 x 3 beside one of 3 x 1.
Symbol split_3x3(const Symbol& x, const std::string& name) {
  const Symbol row = inception_conv(x, {384, {1, 3}});
  return Concatenate({.name = name})({row, inception_conv(x, {384, {3, 1}})});
}

/// Blocks 9 and 10.
Symbol mixed_3x3(const Symbol& x, int number) {
  const Symbol branch_1x1 = inception_conv(x, {320, 1});
  const Symbol branch_3x3 = split_3x3(inception_conv(x, {384, 1}), fmt::format("mixed9_{}", number - 9));
  const Symbol branch_3x3_twice = split_3x3(inception_branch(x, {{448, 1}, {384, 3}}), "");
  return mixed(number, {branch_1x1, branch_3x3, branch_3x3_twice, pooling_branch(x, 192)});
}

}  // namespace

Model inception_v3(const ImageModelOptions& options) {
  const Symbol images = detail::image_input("inception_v3", options, 299, 75);
  Symbol x = mixed_5x5(detail::inception_stem(images), 0, 32);
  x = mixed_5x5(x, 1, 64);
  x = mixed_5x5(x, 2, 64);
  x = mixed_3(x);
  x = mixed_7x7(x, 4, 128);
  x = mixed_7x7(x, 5, 160);
  x = mixed_7x7(x, 6, 160);
  x = mixed_7x7(x, 7, 192);
  x = mixed_8(x);
  x = mixed_3x3(x, 9);
  x = mixed_3x3(x, 10);
  x = detail::top_or_features(x, options, detail::PoolingNames::none);
  return detail::image_model(images, x, options, "inception_v3");
}

}  // namespace lockstep::zoo
