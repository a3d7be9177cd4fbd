#pragma once

#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/training/model.h>

// The models of layers_interop.py that have layers of sliding windows only.

namespace lockstep {

inline Model pools_model() {
  const Symbol sequence = Input({10, 4});
  const Symbol largest = MaxPooling1D({.pool_size = 3, .strides = 2, .padding = Padding::same})(sequence);
  const Symbol mean = AveragePooling1D({.pool_size = 2, .padding = Padding::same})(largest);
  const Symbol first = Flatten()(GlobalAveragePooling1D({.keepdims = true})(AveragePooling1D()(sequence)));
  const Symbol second = GlobalMaxPooling1D()(MaxPooling1D({.pool_size = 4, .strides = 1})(sequence));
  return {sequence, Dense({.units = 3})(Concatenate()({Flatten()(mean), first, second}))};
}

}  // namespace lockstep
