#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <support/gradient_check.h>

// The table of ops. Each row is a call of an op with a reference in double precision. A new op needs rows here; it
// needs tests of its own only for behavior that the tests generated from the table do not cover:
//   op_rows_test.cpp       every op of a public header has a row
//   op_test.cpp            value, gradients and gradients of these, bf16, slices, NaN, no rows, same bits, misuse: on
//                          CPUs and GPUs
//   op_without_gradient_test.cpp  the same for ops without a gradient, whose rows have inputs of one dtype each
//   both_devices_test.cpp  GPUs accept and return the same as CPUs
//   other_device_test.cpp  inputs, gradients and the thread on different devices
//   op_errors_test.cpp, launch_errors_test.cpp  out of memory, a launch that fails
//   captured_ops_test.cpp  launches of a captured graph
// op_rows_test.cpp requires a row for each public op. It lists the functions that need no row; most of them write to
// their operands or move them between devices. both_devices_test.cpp runs the rows, these functions, scatter_add and
// limit_norms.

namespace lockstep::test {

/// The inputs that an op accepts in bf16 as well as in f32: none, its data, or all.
enum class Bf16 { none, data, all };

struct OpCase {
  std::string name;            ///< name of the function that `run` calls last, optionally followed by its arguments
  std::vector<Tensor> inputs;  ///< in host memory; f32 if the op has a gradient
  Op run;
  Reference reference;
  GradientCheck check{};
  std::int64_t length_on_gpus = 0;  ///< replaces check.length on GPUs, for less exact libraries; 0: check.length
  /// The number of data inputs, which come first. They may be slices and, with `takes_no_rows`, have no rows. The other
  /// inputs are parameters.
  std::size_t data = 1;
  bool takes_no_rows = true;
  Bf16 bf16 = Bf16::all;
  std::string calls_first{};  ///< another function that `run` calls first
  ///@{
  /// Dtypes that the op takes besides f32 and bf16: i32 and i64 (takes_integers), or all but those in `refuses`
  /// (takes_any_dtype). The result has the input's dtype, i32 for the dtypes in `give_i32`, or f32 if
  /// `integers_give_f32`.
  bool takes_integers = false;
  bool takes_any_dtype = false;
  bool integers_give_f32 = false;
  std::vector<DType> give_i32{};
  ///@}
  bool nan_spreads = true;        ///< whether all results are NaN if all data are NaN
  std::size_t optional = 0;       ///< number of inputs, counted from the last one, that may be undefined
  std::size_t optional_data = 0;  ///< number of data, counted from the last one, that may be undefined
  bool same_bits_on_any_threads = true;
  std::string no_second_gradient{};  ///< why tapes cannot record its gradient; empty if they can
  bool is_view = false;   ///< the result is on the first input's device, e.g. because it shares the input's memory
  bool is_large = false;  ///< large enough for several threads and blocks; only op_test.cpp and
                          ///< op_without_gradient_test.cpp run it
  std::optional<DType> gives{};  ///< only for ops without a gradient: the dtype of the result
  std::vector<DType> refuses{};  ///< dtypes of inputs; only of rows with `gives` or takes_any_dtype

  bool has_gradient() const { return !gives; }
  std::string function() const { return name.substr(0, name.find(' ')); }
  friend void PrintTo(const OpCase& c, std::ostream* out) { *out << c.name; }
};

using In = std::span<const Tensor>;
using Values = std::vector<std::vector<double>>;

/// Applies `f` to each element of the first input.
inline Reference each(std::function<double(double)> f) {
  return [f = std::move(f)](const Values& in) {
    std::vector<double> y;
    for (const double x : in[0]) y.push_back(f(x));
    return y;
  };
}

/// A bias that keeps sums of `terms` products of numbers in [-1, 1) away from 0. Near 0, the order of addition would
/// decide whether a ReLU is active.
Tensor bias_far_from_0(std::int64_t units, std::int64_t terms);

/// Index of the element of a tensor of `shape` that is element `index` after broadcasting to `full`.
std::size_t source_index(const Shape& shape, const Shape& full, std::size_t index);

/// The row with inputs of `dtype`, which is not real, small whole numbers, and without a gradient.
OpCase of_dtype(OpCase op, DType dtype);

/// The row, marked as large, with `samples` elements of each input to be compared with difference quotients.
OpCase large(OpCase op, int samples);

/// Expects the same bits, or close values for ops of a library that computes strided and dense operands differently.
void expect_same_wherever(const OpCase& op, const Tensor& actual, const Tensor& expected);

/// Name of a row's result. Number 0 is the op's value; the gradients follow.
std::string result_name(std::size_t number);

std::vector<OpCase> activation_cases();
std::vector<OpCase> array_cases();
std::vector<OpCase> attention_cases();
std::vector<OpCase> comparison_cases();
std::vector<OpCase> convolution_cases();
std::vector<OpCase> creation_cases();
std::vector<OpCase> einsum_cases();
std::vector<OpCase> elementwise_cases();
std::vector<OpCase> image_cases();
std::vector<OpCase> indexing_cases();
std::vector<OpCase> linear_algebra_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> masked_recurrence_cases();
std::vector<OpCase> matmul_cases();
std::vector<OpCase> normalization_cases();
std::vector<OpCase> pooling_cases();
std::vector<OpCase> random_cases();
std::vector<OpCase> recurrence_cases();
std::vector<OpCase> reduction_cases();
std::vector<OpCase> scan_cases();
std::vector<OpCase> shape_cases();
std::vector<OpCase> slices_cases();
std::vector<OpCase> sorting_cases();

///@{
/// The rows of ops with a gradient; the rows of ops without a gradient; all rows that are not large. Every call returns
/// the same objects.
const std::vector<OpCase>& op_cases();
const std::vector<OpCase>& op_cases_without_gradient();
const std::vector<OpCase>& small_op_cases();
///@}

/// Replaces characters that GoogleTest does not accept in names by underscores.
std::string as_test_name(std::string name);
/// The row's name for GoogleTest, with its number, since rows may differ in shapes only.
std::string test_name(const std::vector<OpCase>& cases, std::size_t number);

}  // namespace lockstep::test
