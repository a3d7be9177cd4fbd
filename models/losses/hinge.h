#pragma once

#include <lockstep/models/losses/loss.h>

// Hinge losses of predictions p (n, ...) and targets y of the same shape. The formulas are Keras'.

namespace lockstep {

/// The mean of max(1 - y p, 0) over an example's elements. Targets are -1 or 1; if all targets of the replica's rows
/// are 0 or 1, 0 stands for -1.
struct Hinge : Loss {
  Hinge();
};
/// The mean of max(1 - y p, 0)^2 over an example's elements. Takes the same targets as Hinge.
struct SquaredHinge : Loss {
  SquaredHinge();
};
/// max(1 + other - own, 0), where `own` is the sum of y p over the last axis and `other` is the largest (1 - y) p along
/// this axis. If an example has several of these values, its loss is their mean. Targets and predictions are (n, ...,
/// classes), and targets are one-hot. A call throws InvalidArgument for predictions without an axis of classes and for
/// 0 classes.
struct CategoricalHinge : Loss {
  CategoricalHinge();
};

}  // namespace lockstep
