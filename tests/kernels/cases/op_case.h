#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <support/gradient_check.h>

// The table of ops: each row is a call of an op with a reference in double precision. The tests of ops are generated
// from it, so that a new op needs rows here, and tests of its own only for what is its own:
//   op_test.cpp            value and gradients, bf16, slices, NaN, no rows, same bits, misuse: CPUs and GPUs
//   both_devices_test.cpp  GPUs take and give what CPUs do
//   other_device_test.cpp  inputs, gradients and the thread on different devices
//   op_errors_test.cpp, launch_errors_test.cpp  no memory left, a launch that fails
//   captured_ops_test.cpp  launches of a captured graph

namespace lockstep::test {

/// Which inputs an op takes in bf16 besides f32: none, its data, or all of them.
enum class Bf16 { none, data, all };

struct OpCase {
  std::string name;            ///< of the function that `run` calls last, then perhaps what it is called with
  std::vector<Tensor> inputs;  ///< f32, in host memory
  Op run;
  Reference reference;
  GradientCheck check{};
  std::int64_t length_on_gpus = 0;  ///< instead of check.length, where a library computes less exactly; 0: the same
  /// The first inputs are data, which may be slices and, with `takes_no_rows`, have no rows; the others are parameters.
  std::size_t data = 1;
  bool takes_no_rows = true;
  Bf16 bf16 = Bf16::all;
  std::string calls_first{};  ///< the function that `run` calls before
  bool takes_integers = false;
  bool nan_spreads = true;   ///< data of NaN alone give results of NaN alone
  std::size_t optional = 0;  ///< how many of the last inputs may be undefined
  bool same_bits_on_any_threads = true;
  bool is_view = false;   ///< its result stays where the first input is
  bool is_large = false;  ///< for several threads and blocks: op_test.cpp alone runs it

  std::string function() const { return name.substr(0, name.find(' ')); }
  friend void PrintTo(const OpCase& c, std::ostream* out) { *out << c.name; }
};

using In = std::span<const Tensor>;
using Values = std::vector<std::vector<double>>;

/// `f` of each element of the first input.
inline Reference each(std::function<double(double)> f) {
  return [f = std::move(f)](const Values& in) {
    std::vector<double> y;
    for (const double x : in[0]) y.push_back(f(x));
    return y;
  };
}

/// A bias that no sum of `terms` products of numbers in [-1, 1) brings near 0: where the argument of a ReLU is, another
/// order of adding decides whether it is active.
Tensor bias_far_from_0(std::int64_t units, std::int64_t terms);

/// The op as a large row, which compares `samples` elements of each input with difference quotients.
OpCase large(OpCase op, int samples);

/// Of the results of a row, its value and then its gradients, which one this is.
std::string result_name(std::size_t number);

std::vector<OpCase> activation_cases();
std::vector<OpCase> array_cases();
std::vector<OpCase> convolution_cases();
std::vector<OpCase> elementwise_cases();
std::vector<OpCase> indexing_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> matmul_cases();
std::vector<OpCase> normalization_cases();
std::vector<OpCase> pooling_cases();
std::vector<OpCase> random_cases();
std::vector<OpCase> recurrence_cases();
std::vector<OpCase> reduction_cases();
std::vector<OpCase> scan_cases();
std::vector<OpCase> sorting_cases();

/// All rows; the same objects at every call.
const std::vector<OpCase>& op_cases();
/// Those that are not large.
const std::vector<OpCase>& small_op_cases();

/// `name` with an underscore for each sign that GoogleTest does not take.
std::string as_test_name(std::string name);
/// The row's name as GoogleTest takes it, with the row's number, since shapes alone may tell rows apart.
std::string test_name(const std::vector<OpCase>& cases, std::size_t number);

}  // namespace lockstep::test
