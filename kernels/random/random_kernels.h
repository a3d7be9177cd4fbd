#pragma once

#include <cstdint>

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/random/random_key.h>

namespace lockstep::kernels {

/// lockstep::dropout (dropout.h), f32 or bf16; y has x's shape.
struct Dropout {
  Tensor x;
  float rate;
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "dropout";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// lockstep::normal (normal.h), f32 or bf16.
struct Normal {
  double mean;
  double stddev;
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "normal";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
};

///@{
/// lockstep::uniform, truncated_normal, randint and binomial (random.h). y is f32 or bf16; for randint, it is i32, i64
/// or u8.
struct Uniform {
  double minval;
  double maxval;
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "uniform";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
};

struct TruncatedNormal {
  double mean;
  double stddev;
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "truncated_normal";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
};

struct RandomIntegers {
  std::int64_t minval;
  std::int64_t maxval;
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "randint";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
};

struct Binomial {
  std::int64_t counts;
  double probability;
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "binomial";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
};
///@}

/// lockstep::categorical (random.h): logits (rows, classes) f32 or bf16, y (rows, samples) i32 or i64.
struct Categorical {
  Tensor logits;
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "categorical";
  auto operands() const { return kernels::operands(logits, y); }
  template <class Executor>
  void run(Executor& on) const;
};

/// y (n) i64 = a random permutation of 0, ..., n - 1: the permutation by which a stable sort orders n random keys of 48
/// bits.
struct Permutation {
  RandomKey key;
  Tensor y;

  static constexpr const char* name = "permutation";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
};

}  // namespace lockstep::kernels
