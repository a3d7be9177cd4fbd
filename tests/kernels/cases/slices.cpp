#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/indexed_slices.h>

// Ops on IndexedSlices, whose values are the rows' inputs.

namespace lockstep::test {
namespace {

/// The four rows of x as those of five at these indices.
IndexedSlices slices_of(const Tensor& x, const Tensor& indices) { return {x, indices, {5, 3}}; }

/// `result`: for each row of the result, the rows of the first input that are added.
OpCase slices_case(const char* op, DType dtype, Op run, const std::vector<std::vector<std::size_t>>& result) {
  return {.name = fmt::format("{} of {}", op, name(dtype)),
          .inputs = {cast(random_tensor({4, 3}, 1), dtype)},
          .run = std::move(run),
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (const std::vector<std::size_t>& rows : result)
                  for (std::size_t column = 0; column < 3; ++column) {
                    y.push_back(0);
                    for (const std::size_t row : rows) y.back() += in[0][row * 3 + column];
                  }
                return y;
              },
          .check = {.length = 2},
          .takes_no_rows = false,  // the indices are of four
          .gives = dtype,
          .refuses = {DType::i32, DType::i64, DType::u8, DType::boolean}};
}

}  // namespace

std::vector<OpCase> slices_cases() {
  std::vector<OpCase> cases;
  const Tensor at = Tensor::from(std::vector<std::int64_t>{3, 1, 3, 1}, {4});
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const IndexedSlices zeros = slices_of(Tensor::zeros({4, 3}, dtype), at);
    cases.push_back(slices_case("to_dense", dtype, [=](In in) { return to_dense(slices_of(in[0], at)); },
                                {{}, {1, 3}, {}, {0, 2}, {}}));
    cases.push_back(slices_case("sum_duplicates", dtype,
                                [=](In in) { return sum_duplicates(slices_of(in[0], at)).values; }, {{1, 3}, {0, 2}}));
    cases.push_back(slices_case("joined", dtype, [=](In in) { return joined(zeros, slices_of(in[0], at)).values; },
                                {{}, {}, {}, {}, {0}, {1}, {2}, {3}}));
  }
  return cases;
}

}  // namespace lockstep::test
