#pragma once

#include <cstdint>

#include <lockstep/models/optimizers/optimizer.h>

namespace lockstep {

/// What kind of step an optimizer takes: all that SGD, Adam and the like differ in.
class Optimizer::Rule {
 public:
  virtual ~Rule() = default;
  /// How many values it keeps for each parameter; they start at 0.
  virtual int state_slots() const = 0;
  /// Whether a step may move a parameter whose gradient is 0; if not, rows of a table that nobody looked up are left
  /// alone.
  virtual bool moves_without_gradient() const = 0;
  /// Step number `t`, from 1, on the calling thread's device.
  virtual UpdateFn step(double learning_rate, std::int64_t t) const = 0;
};

}  // namespace lockstep
