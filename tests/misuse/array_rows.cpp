#include "rows.h"

// Ops that give tensors other shapes, that take indices, and that sum products.

namespace lockstep::test {

Rows array_rows() {
  const auto at = [](std::int64_t index) { return Tensor::full({1, 1}, static_cast<double>(index), DType::i64); };
  return {
      misuse<InvalidArgument>("expand_dims", "an axis past the end", {"expand_dims", "axis 2", "-2 to 1"},
                              [] { expand_dims(zeros({2}), 2); }),
      misuse<InvalidArgument>("squeeze", "an axis of two elements", {"squeeze", "axis 0", "f32 (2)"},
                              [] { squeeze(zeros({2}), {0}); }),
      misuse<InvalidArgument>("stack", "no tensor", {"stack"}, [] { stack({}); }),
      misuse<InvalidArgument>("stack", "two shapes", {"stack", "f32 (2)", "f32 (3)"},
                              [] {
                                stack(std::vector{zeros({2}), zeros({3})});
                              }),
      misuse<InvalidArgument>("broadcast_to", "a shape that does not fit", {"f32 (2)", "(3)"},
                              [] { broadcast_to(zeros({2}), {3}); }),
      misuse<InvalidArgument>("tile", "a negative number of copies", {"tile", "got -1"},
                              [] { tile(zeros({2}), {-1}); }),
      misuse<InvalidArgument>("repeat", "a negative number of copies", {"repeat", "got -1"},
                              [] { repeat(zeros({2}), -1, 0); }),
      misuse<InvalidArgument>("flip", "an axis that is not there", {"axis 1", "rank 1"}, [] { flip(zeros({2}), {1}); }),
      misuse<InvalidArgument>("stop_gradient", "a tensor that was moved from", {"stop_gradient", "undefined"},
                              [] { stop_gradient(moved_from(zeros({2}))); }),
      misuse<InvalidArgument>("pad", "a width for some of the axes", {"pad", "2 axes", "f32 (2, 2)", "got 1"},
                              [] {
                                pad(zeros({2, 2}), {{1, 1}});
                              }),
      misuse<InvalidArgument>("pad", "a reflection of more than there is",
                              {"pad", "axis 0", "at most 1", "got 2 and 0"},
                              [] {
                                pad(zeros({2}), {{2, 0}}, PadMode::reflect);
                              }),
      misuse<InvalidArgument>("tril", "a vector", {"tril", "got f32 (2)"}, [] { tril(zeros({2})); }),
      misuse<InvalidArgument>("arange", "a step of 0", {"arange", "0, 1", "step of 0"}, [] { arange(0, 1, 0); }),
      misuse<InvalidArgument>("linspace", "a negative count", {"linspace", "0, 1", "count of -1"},
                              [] { linspace(0, 1, -1); }),
      misuse<InvalidArgument>("eye", "a negative size", {"eye", "got -1 and -1"}, [] { eye(-1); }),
      misuse<InvalidArgument>("take", "an index past the end", {"take", "(2)", "place 0"},
                              [=] { take(zeros({2}), at(2), 0); }),
      misuse<InvalidArgument>("take", "indices of f32", {"take", "i64, i32 or u8", "got f32 (2)"},
                              [] { take(zeros({2}), zeros({2}), 0); }),
      misuse<InvalidArgument>("take_along_axis", "an index before the beginning",
                              {"take_along_axis", "-3", "place 0", "2 elements"},
                              [=] {
                                take_along_axis(zeros({2, 1}), at(-3), 0);
                              }),
      misuse<InvalidArgument>("one_hot", "indices of f32", {"one_hot", "i64, i32 or u8", "got f32 (2)"},
                              [] { one_hot(zeros({2}), 3); }),
      misuse<InvalidArgument>("scatter", "values of another shape", {"scatter", "(1, 1)", "(3)", "(1)", "got f32 (2)"},
                              [=] { scatter(at(0), zeros({2}), {3}); }),
      misuse<InvalidArgument>("scatter_update", "an index past the end", {"scatter_update", "(3)", "place 0"},
                              [=] { scatter_update(zeros({3}), at(3), zeros({1})); }),
      misuse<InvalidArgument>("segment_sum", "a segment for some of the rows",
                              {"segment_sum", "(2)", "f32 (2)", "got i64 (1)"},
                              [] { segment_sum(zeros({2}), zeros({1}, DType::i64), 3); }),
      misuse<InvalidArgument>("einsum", "an axis of two sizes", {"einsum", "'ab,bc->ac'", "3", "(2, 3)"},
                              [] {
                                einsum("ab,bc->ac", zeros({2, 3}), zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("einsum", "a result with another axis", {"einsum", "'ab->ac'"},
                              [] {
                                einsum("ab->ac", zeros({2, 3}));
                              }),
      misuse<InvalidArgument>("einsum", "two ellipses in a term", {"einsum", "'......'"},
                              [] {
                                einsum("......", zeros({2, 3, 4}));
                              }),
      misuse<InvalidArgument>("tensordot", "too many axes", {"tensordot", "f32 (2)", "0 to 1", "got 2"},
                              [] { tensordot(zeros({2}), zeros({2})); }),
  };
}

}  // namespace lockstep::test
