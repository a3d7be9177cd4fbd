#pragma once

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/random/random_key.h>

namespace lockstep::kernels {

/// lockstep::dropout (dropout.h), real; y has x's shape.
struct Dropout {
  Tensor x;
  float rate;
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "dropout";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// lockstep::normal (normal.h), real.
struct Normal {
  double mean;
  double stddev;
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "normal";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

}  // namespace lockstep::kernels
