#pragma once

#include <lockstep/models/losses/loss.h>

// Hinge losses of predictions p (n, ...) and targets y with the same number of elements. The formulas are Keras'.

namespace lockstep {

/// The mean of max(1 - y p, 0) over an example's elements. Targets are -1 or 1; if all targets of the replica's rows
/// are 0 or 1, 0 counts as -1.
struct Hinge : Loss {
  Hinge();
};
/// The mean of max(1 - y p, 0)^2; with the same targets as Hinge.
struct SquaredHinge : Loss {
  SquaredHinge();
};
/// max(1 + n - t, 0), where t is the sum of y p and n the largest (1 - y) p over the last axis; the mean of these
/// values if an example has several. Targets and predictions are (n, ..., classes), targets one-hot.
struct CategoricalHinge : Loss {
  CategoricalHinge();
};

}  // namespace lockstep
