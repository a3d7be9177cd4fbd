#include <gtest/gtest.h>

#include <lockstep/kernels/matmul/matmul_kernels.h>

#include "parity.h"

// On the host these kernels have no other source, so only the program with the emulated GPU has these tests.

namespace lockstep::test {
namespace {

TEST(GridMatmul, OfIntegers) {
  for (const DType dtype : {DType::i32, DType::i64, DType::u8, DType::boolean}) {
    const Tensor a = in_dtype(dtype, random_tensor({3, 1, 5, 7}, 1, 0, 99));
    const Tensor b = in_dtype(dtype, random_tensor({2, 9, 7}, 2, 0, 3)).view({1, 2, 9, 7}).transposed_view(2, 3);
    expect_same_results(dtype, {{3, 2, 5, 9}}, [&](Runner run, Results& y) {
      run(kernels::IntegerMatmul{a, b, y[0]});
    });
  }
}

}  // namespace
}  // namespace lockstep::test
