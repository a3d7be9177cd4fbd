#pragma once

#include <functional>
#include <string>
#include <typeinfo>
#include <vector>

#include <lockstep/lockstep.h>

namespace lockstep::test {

/// A misuse of a public call, and the expected error.
struct Misuse {
  std::string call;
  std::string how;                       ///< how the call is misused
  bool (*is_it)(const std::exception&);  ///< whether an exception has the expected type
  std::vector<std::string> facts;        ///< values and names that the message must contain
  std::function<void()> action;
};
using Rows = std::vector<Misuse>;

template <class E, class Action>
Misuse misuse(std::string call, std::string how, std::vector<std::string> facts, Action action) {
  const auto is_it = [](const std::exception& error) { return typeid(error) == typeid(E); };
  return {std::move(call), std::move(how), is_it, std::move(facts), [action] { action(); }};
}

inline Tensor zeros(const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(shape, dtype); }

/// `value` after a move from it.
template <class T>
T moved_from(T value) {
  const T other = std::move(value);
  return value;  // NOLINT: use after move is the purpose
}

/// A tensor of two elements after a move from it.
inline Tensor moved_from_tensor() { return moved_from(zeros({2})); }

Rows joined(const std::vector<Rows>& parts);

/// Runs `action` on a new thread; rethrows its exception.
void on_another_thread(const std::function<void()>& action);

// Rows by folder.

Rows tensor_rows();
Rows op_rows();
Rows array_rows();
Rows data_rows();
Rows preparation_rows();
Rows strategy_rows();
Rows replica_rows();
Rows variable_rows();
Rows layer_rows();
Rows model_rows();
Rows fit_rows();
Rows on_batch_rows();
Rows optimizer_rows();
Rows loss_rows();
Rows callback_rows();
Rows file_rows();

}  // namespace lockstep::test
