#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/matmul/matmul.h>

namespace lockstep::test {
namespace {

TEST(Einsum, IsMatmulOfViews) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor w = random_tensor({4, 5}, 2);
  expect_same_bits(einsum("abc,cd->abd", x, w), matmul(x, w));
  expect_same_bits(einsum("cba,cd->bad", transpose(x), w), matmul(transpose(x, {1, 0, 2}), w));
}

TEST(Einsum, NamesTheEquationInErrors) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_ERROR(InvalidArgument, "einsum 'ab,ac->bc': an axis has 2 elements in (2, 3) and 3 in (3, 3)",
               einsum("ab,ac->bc", x, random_tensor({3, 3}, 1)));
  EXPECT_ERROR(InvalidArgument, "einsum 'abc->a': the term 'abc' does not fit the axes of f32 (2, 3)",
               einsum("abc->a", x));
  EXPECT_ERROR(InvalidArgument, "einsum '...abc->a': the term '...abc' does not fit", einsum("...abc->a", x));
  EXPECT_ERROR(InvalidArgument, "einsum 'ab->c': the result has an axis that no operand has", einsum("ab->c", x));
  EXPECT_ERROR(InvalidArgument, "einsum 'aa->a': an axis has 2 elements in (2, 3) and 3 in (2, 3)", einsum("aa->a", x));
  EXPECT_ERROR(InvalidArgument, "einsum 'ab->aa': the result 'aa' has a letter twice", einsum("ab->aa", x));
  EXPECT_ERROR(InvalidArgument, "the term '......' has '...' more than once",
               einsum("......", random_tensor({2, 3, 4}, 1)));
  EXPECT_ERROR(InvalidArgument, "the term '......' has '...' more than once", einsum("ab->......", x));
  EXPECT_ERROR(InvalidArgument, "letters, '...', commas and '->', got '1'", einsum("a1->a", x));
  EXPECT_ERROR(InvalidArgument, "as many tensors as the equation has terms, got 1 for 'ab,bc->ac'",
               einsum("ab,bc->ac", x));
  EXPECT_ERROR(InvalidArgument, "einsum takes as many tensors as the equation has terms, got 0 for 'a'",
               einsum("a", std::vector<Tensor>{}));
  EXPECT_ERROR(InvalidArgument, "einsum takes tensors of one dtype, got f32 (2, 3) on ",
               einsum("ab,ab", x, cast(x, DType::bf16)));
}

TEST(Tensordot, NamesAxesThatDoNotFit) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_ERROR(InvalidArgument, "differ in size", tensordot(x, x, {0}, {1}));
  EXPECT_ERROR(InvalidArgument, "as many axes of a as of b, got 1 and 0", tensordot(x, x, {0}, {}));
  EXPECT_ERROR(InvalidArgument, "is given twice", tensordot(x, x, {0, -2}, {0, 0}));
  EXPECT_ERROR(InvalidArgument, "takes 0 to 2 axes, got 3", tensordot(x, x, 3));
}

TEST(Dot, TakesANumberAsAFactor) {
  const Tensor x = random_tensor({2, 3}, 1);
  expect_same_bits(dot(x, Tensor::scalar(3.0F)), x * 3.0);
  expect_same_bits(dot(Tensor::scalar(3.0F), x), x * 3.0);
}

}  // namespace
}  // namespace lockstep::test
