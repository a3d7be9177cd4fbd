#include "lockstep/models/zoo/inception_resnet_v2.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/models/layers/application_layers.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/zoo/image_model.h>
#include <lockstep/models/zoo/inception.h>

// Follows keras/src/applications/inception_resnet_v2.py layer by layer.

namespace lockstep::zoo {
namespace {

using Branch = detail::InceptionBranch;

/// The result of each branch applied to x.
std::vector<Symbol> branches_of(const Symbol& x, const std::vector<Branch>& branches) {
  std::vector<Symbol> results;
  for (const Branch& branch : branches) results.push_back(detail::inception_branch(x, branch));
  return results;
}

/// The kind of a residual block.
struct InceptionBlock {
  const char* name;
  std::vector<Branch> branches;
  double scale;  ///< factor of the branches' result
};

/// The sum of x and the branches' result.
Symbol inception_residual(const Symbol& x, const InceptionBlock& block, int number, bool activated = true) {
  const std::string name = fmt::format("{}_{}", block.name, number);
  const Symbol mixed_result = Concatenate({.name = name + "_mixed"})(branches_of(x, block.branches));
  const Symbol up = Conv2D(
      {.filters = x.shape()[2], .kernel_size = 1, .padding = Padding::same, .name = name + "_conv"})(mixed_result);
  const Symbol sum = CustomScaleLayer({.scale = block.scale})({x, up});
  return activated ? detail::relu(sum, name + "_ac") : sum;
}

/// Concatenates the branches, which halve the image, with a pooling that halves it, too.
Symbol reduction(const Symbol& x, const std::string& name, const std::vector<Branch>& branches) {
  std::vector<Symbol> results = branches_of(x, branches);
  results.push_back(detail::halving_pool(x));
  return Concatenate({.name = name})(results);
}

Symbol mixed_5b(const Symbol& x) {
  std::vector<Symbol> results = branches_of(x, {{{96, 1}}, {{48, 1}, {64, 5}}, {{64, 1}, {96, 3}, {96, 3}}});
  results.push_back(detail::pooling_branch(x, 64));
  return Concatenate({.name = "mixed_5b"})(results);
}

}  // namespace

Model inception_resnet_v2(const ImageModelOptions& options) {
  const Symbol images = detail::image_input("inception_resnet_v2", options, 299, 75);
  Symbol x = mixed_5b(detail::inception_stem(images));
  const InceptionBlock block35{"block35", {{{32, 1}}, {{32, 1}, {32, 3}}, {{32, 1}, {48, 3}, {64, 3}}}, 0.17};
  for (int number = 1; number <= 10; ++number) x = inception_residual(x, block35, number);
  const detail::InceptionConv halving_384{384, 3, 2, Padding::valid};
  x = reduction(x, "mixed_6a", {{halving_384}, {{256, 1}, {256, 3}, halving_384}});
  const InceptionBlock block17{"block17", {{{192, 1}}, {{128, 1}, {160, {1, 7}}, {192, {7, 1}}}}, 0.1};
  for (int number = 1; number <= 20; ++number) x = inception_residual(x, block17, number);
  x = reduction(x, "mixed_7a",
                {{{256, 1}, halving_384},
                 {{256, 1}, {288, 3, 2, Padding::valid}},
                 {{256, 1}, {288, 3}, {320, 3, 2, Padding::valid}}});
  InceptionBlock block8{"block8", {{{192, 1}}, {{192, 1}, {224, {1, 3}}, {256, {3, 1}}}}, 0.2};
  for (int number = 1; number <= 9; ++number) x = inception_residual(x, block8, number);
  block8.scale = 1;
  x = detail::inception_conv(inception_residual(x, block8, 10, false), {1536, 1}, "conv_7b");
  x = detail::top_or_features(x, options, detail::PoolingNames::none);
  return detail::image_model(images, x, options, "inception_resnet_v2");
}

}  // namespace lockstep::zoo
