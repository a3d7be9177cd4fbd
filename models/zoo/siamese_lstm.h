#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// siamese_lstm's options.
struct SiameseLstmOptions {
  /// Of each sequence.
  std::int64_t time_steps = 140;
  /// Of each time step.
  std::int64_t features = 256;
  std::int64_t units = 64;  ///< of the LSTM
  std::uint64_t seed = 0;   ///< of the initial weights
};

/// Whether two sequences belong together, from the Keras guide to the functional API: one LSTM encodes both,
/// (time_steps, features) each, and their encodings joined give (1), a probability. 82,305 parameters by default.
Model siamese_lstm(const SiameseLstmOptions& options = {});

}  // namespace lockstep::zoo
