#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/runtime/tensor/tensor.h>

// The table of Keras' operations. operation_cases_test.cpp has the tests that each row must pass.

namespace lockstep::test {

using Tensors = std::vector<Tensor>;

/// A call of an operation on batches.
struct OperationCase {
  std::string name;                                    ///< the operation, optionally followed by more words
  std::vector<std::function<Tensor()>> inputs;         ///< make the inputs
  std::function<Tensors(const Tensors& x)> reference;  ///< the results, by the library's ops
  std::string options = "{}";
  std::string args{};

  std::string class_name() const { return name.substr(0, name.find(' ')); }
  Tensors made() const {
    Tensors tensors;
    for (const auto& make : inputs) tensors.push_back(make());
    return tensors;
  }
};
using Cases = std::vector<OperationCase>;

/// Numbers (2, 3, 4) of both signs, not whole and all different.
inline Tensor mixed() {
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>(i * 7 % 24) / 4 - 2.9375F);
  return Tensor::from(values, {2, 3, 4});
}
inline Tensor positive() { return abs(mixed()); }
inline Tensor others() { return flip(mixed()) * 0.75; }

/// An operation on one input that is a function of the library.
inline OperationCase each(const char* name, Tensor (*op)(const Tensor&), Tensor (*input)() = mixed) {
  return {name, {input}, [op](const Tensors& x) { return Tensors{op(x[0])}; }};
}

inline OperationCase of_one(const char* name, const char* options, const std::function<Tensor(const Tensor&)>& op) {
  return {name, {mixed}, [op](const Tensors& x) { return Tensors{op(x[0])}; }, options};
}

inline OperationCase of_two(const char* name, Tensor (*op)(const Tensor&, const Tensor&), Tensor (*first)() = mixed) {
  return {name, {first, others}, [op](const Tensors& x) { return Tensors{op(x[0], x[1])}; }};
}

inline Cases joined(std::initializer_list<Cases> parts) {
  Cases all;
  for (const Cases& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

///@{
/// Rows by the kind of operation.
Cases function_cases();
Cases array_cases();
Cases mask_and_index_cases();
Cases image_cases();
///@}

}  // namespace lockstep::test
