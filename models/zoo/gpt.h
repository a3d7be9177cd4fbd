#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// gpt's options.
struct GptOptions {
  std::int64_t vocabulary = 0;  ///< number of token ids; required
  std::int64_t context = 256;   ///< largest number of tokens that the model reads
  std::int64_t layers = 6;      ///< transformer blocks
  std::int64_t width = 384;     ///< features of each token, a multiple of `heads`
  std::int64_t heads = 6;       ///< attention heads of each block
  double dropout = 0.1;         ///< dropout rate of embeddings, attention weights and the results of a block's branches
  std::uint64_t seed = 0;       ///< seed of the initial weights and of dropout
  bool remat = false;           ///< saves memory in training: makes each block a RematScope
};

/// The decoder-only transformer of Radford et al. 2019 (GPT-2), with exact gelu and an output layer that does not share
/// the weights of the token embedding: token ids (time) -> (time, vocabulary), where time <= context. The results are
/// the logits of each token's successor, for losses with `from_logits`. The logits at a token depend only on this token
/// and the tokens before it. The number of parameters is 2 V W + C W + L (12 W^2 + 13 W) + 2 W, where V, C, L and W are
/// vocabulary, context, layers and width. Calls with more than `context` tokens throw InvalidArgument, which names the
/// layer position_embedding. Throws InvalidArgument for sizes below 1, for a width that is not a multiple of `heads`,
/// and for a dropout outside [0, 1).
Model gpt(const GptOptions& options);

}  // namespace lockstep::zoo
