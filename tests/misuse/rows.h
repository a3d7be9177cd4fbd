#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <lockstep/lockstep.h>

namespace lockstep::test {

/// A public call, used as it must not be, and what comes of it.
struct Misuse {
  std::string call;
  std::string how;                       ///< it is misused
  std::string error;                     ///< the name of the type that is thrown
  bool (*is_it)(const std::exception&);  ///< whether an error is of that type
  std::string message;                   ///< what the error says, in part
  std::function<void()> action;
};
using Rows = std::vector<Misuse>;

template <class E>
constexpr const char* error_name() {
  if constexpr (std::is_same_v<E, InvalidArgument>) return "InvalidArgument";
  if constexpr (std::is_same_v<E, LogicError>) return "LogicError";
  if constexpr (std::is_same_v<E, InputError>) return "InputError";
  if constexpr (std::is_same_v<E, Unsupported>) return "Unsupported";
}

template <class E, class Action>
Misuse misuse(std::string call, std::string how, std::string message, Action action) {
  const auto is_it = [](const std::exception& error) { return typeid(error) == typeid(E); };
  return {std::move(call), std::move(how), error_name<E>(), is_it, std::move(message), [action] { action(); }};
}

inline Tensor zeros(const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(shape, dtype); }

/// What is left of `value` after a move.
template <class T>
T moved_from(T value) {
  const T other = std::move(value);
  return value;  // NOLINT: on purpose
}

Rows joined(const std::vector<Rows>& parts);

/// Runs `action` on a thread of its own. Throws what it throws.
void on_another_thread(const std::function<void()>& action);

// By folder.

Rows tensor_rows();
Rows op_rows();
Rows data_rows();
Rows preparation_rows();
Rows strategy_rows();
Rows replica_rows();
Rows variable_rows();
Rows layer_rows();
Rows model_rows();
Rows fit_rows();
Rows optimizer_rows();
Rows loss_rows();
Rows callback_rows();
Rows file_rows();

}  // namespace lockstep::test
