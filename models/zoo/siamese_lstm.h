#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// siamese_lstm's options.
struct SiameseLstmOptions {
  /// Length of each sequence.
  std::int64_t time_steps = 140;
  /// Number of features of each time step.
  std::int64_t features = 256;
  std::int64_t units = 64;  ///< units of the LSTM
  std::uint64_t seed = 0;   ///< seed of the initial weights
};

/// Predicts whether two sequences belong together, after the Keras guide to the functional API: one LSTM encodes both
/// inputs, (time_steps, features) each, and a dense layer maps their concatenated encodings to (1), a probability.
/// With the default options, the model has 82305 parameters.
Model siamese_lstm(const SiameseLstmOptions& options = {});

}  // namespace lockstep::zoo
