#include <gtest/gtest.h>

#include <lockstep/kernels/linear_algebra/linear_algebra_kernels.h>

#include "parity.h"

// On the host these kernels have no other source, so only the program with the emulated GPU has these tests.

namespace lockstep::test {
namespace {

TEST(GridLinearAlgebra, SingularValues) {
  for (const Shape& shape : {Shape{3, 1, 1}, Shape{5, 7, 4}, Shape{2, 40, 33}, Shape{1, 1100, 2}, Shape{0, 4, 2}}) {
    const std::int64_t n = shape[2];
    const Tensor x = random_tensor(shape, 1);
    expect_same_results({shape, {shape[0], n}, {shape[0], n, n}}, [&](Runner run, Results& y) {
      run(kernels::SingularValues{x, y[0], y[1], y[2]});
    });
  }
}

}  // namespace
}  // namespace lockstep::test
