#pragma once

#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/lstm.h>

namespace lockstep::fuzz {

/// A network to read weights into, with layers that have several weights and a layer with weights in a cell.
inline Network small_network() {
  const Symbol x = Input({3, 2}, "x");
  const Symbol y = BatchNormalization({.name = "norm"})(LSTM({.units = 2, .name = "lstm"})(x));
  return {x, Dense({.units = 2, .name = "dense"})(y), 0};
}

}  // namespace lockstep::fuzz
