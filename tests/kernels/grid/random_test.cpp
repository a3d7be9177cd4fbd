#include <gtest/gtest.h>

#include <lockstep/kernels/random/random_kernels.h>

#include "parity.h"

// On the host these kernels have no other source, so only the program with the emulated GPU has these tests.

namespace lockstep::test {
namespace {

constexpr RandomKey key{.seed = 7, .stream = 1, .replica = 2, .step = 3};

TEST(GridRandom, RealNumbers) {
  for (const DType dtype : real_dtypes)
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{4, 257}, Shape{0, 3}}) {
      expect_same_results(dtype, {shape}, [](Runner run, Results& y) { run(kernels::Uniform{-2, 3, key, y[0]}); });
      expect_same_results(dtype, {shape}, [](Runner run, Results& y) { run(kernels::Normal{1, 0.5, key, y[0]}); });
      expect_same_results(dtype, {shape}, [](Runner run, Results& y) {
        run(kernels::TruncatedNormal{-1, 2, key, y[0]});
      });
      expect_same_results(dtype, {shape}, [](Runner run, Results& y) { run(kernels::Binomial{9, 0.3, key, y[0]}); });
    }
}

TEST(GridRandom, Integers) {
  for (const DType dtype : {DType::i32, DType::i64, DType::u8})
    expect_same({Tensor::zeros({4, 257}, dtype)}, [](Runner run, Results& y) {
      run(kernels::RandomIntegers{3, 200, key, y[0]});
    });
}

TEST(GridRandom, Classes) {
  for (const DType dtype : real_dtypes) {
    const Tensor logits = in_dtype(dtype, random_tensor({5, 70}, 1, -3, 3));
    for (const DType classes : {DType::i32, DType::i64})
      expect_same({Tensor::zeros({5, 33}, classes)}, [&](Runner run, Results& y) {
        run(kernels::Categorical{logits, key, y[0]});
      });
  }
}

TEST(GridRandom, Permutations) {
  for (const std::int64_t n : {0, 1, 7, 3000})
    expect_same({Tensor::zeros({n}, DType::i64)}, [](Runner run, Results& y) { run(kernels::Permutation{key, y[0]}); });
}

}  // namespace
}  // namespace lockstep::test
