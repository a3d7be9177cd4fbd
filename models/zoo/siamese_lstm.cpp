#include "lockstep/models/zoo/siamese_lstm.h"

#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>

namespace lockstep::zoo {

Model siamese_lstm(const SiameseLstmOptions& options) {
  const Shape sequence{options.time_steps, options.features};
  const Symbol a = Input(sequence);
  const Symbol b = Input(sequence);
  const LSTM shared({.units = options.units});
  const Symbol encoded_a = shared(a);
  const Symbol encoded_b = shared(b);
  const Symbol merged = Concatenate()({encoded_a, encoded_b});
  const Dense last =
      with_dtype_policy(DTypePolicy::float32, [] { return Dense({.units = 1, .activation = Activation::sigmoid}); });
  return {{a, b}, last(merged), {.name = "siamese_lstm", .seed = options.seed}};
}

}  // namespace lockstep::zoo
