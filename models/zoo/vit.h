#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// vit's options. The defaults are those of ViT-S/16.
struct VitOptions {
  std::int64_t patch_size = 16;  ///< height and width of a patch
  std::int64_t layers = 12;      ///< transformer blocks
  std::int64_t width = 384;      ///< features of each patch, a multiple of `heads`
  std::int64_t heads = 6;        ///< attention heads of each block
  double dropout = 0;      ///< dropout rate of embeddings, attention weights and the results of a block's branches
  std::uint64_t seed = 0;  ///< seed of the initial weights and of dropout
  bool remat = false;      ///< saves memory in training: makes each block a RematScope
};

/// The vision transformer of Dosovitskiy et al. 2021 in the variant of their appendix D.3 without a class token: the
/// classifier reads the mean of all patches. Images (height, width, channels) -> (classes) logits, for losses with
/// `from_logits`. The number of parameters is C W + P W + L (12 W^2 + 13 W) + 3 W + (W + 1) classes, where P is the
/// number of patches, C the number of elements of a patch, L is `layers` and W is `width`. Throws InvalidArgument for
/// sizes below 1, for images whose sides are not multiples of `patch_size`, for a width that is not a multiple of
/// `heads`, and for a dropout outside [0, 1).
Model vit(const Shape& input, int classes, const VitOptions& options = {});

}  // namespace lockstep::zoo
