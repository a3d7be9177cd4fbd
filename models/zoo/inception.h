#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/layers/conv.h>

// Shared by InceptionV3 and InceptionResNetV2. As in Keras, layers without a name are numbered in the order of their
// creation.

namespace lockstep::zoo::detail {

/// A convolution of a branch.
struct InceptionConv {
  std::int64_t filters;
  Size2d kernel_size;
  std::int64_t strides = 1;
  Padding padding = Padding::same;
};

/// Convolutions one after the other.
using InceptionBranch = std::vector<InceptionConv>;

/// The convolution with its normalization and activation; with a `name`, they are named NAME, NAME_bn and NAME_ac.
Symbol inception_conv(const Symbol& x, const InceptionConv& conv, const std::string& name = {});

/// The result of the branch applied to x.
Symbol inception_branch(const Symbol& x, const InceptionBranch& branch);

/// 3 x 3 max pooling with stride 2 and without padding: n pixels become (n - 1) / 2, rounded down.
Symbol halving_pool(const Symbol& x);

/// 3 x 3 average pooling with stride 1 and same padding, then a 1 x 1 inception_conv with `filters` filters.
Symbol pooling_branch(const Symbol& x, std::int64_t filters);

/// The layers before the first Inception block.
Symbol inception_stem(const Symbol& images);

}  // namespace lockstep::zoo::detail
