#pragma once

#include <variant>

#include <lockstep/runtime/core/host_device.h>

// What the functors of math_functions.h and activation_functions.h, functions f of one element, have in common. A new
// functor also goes into the list at the end of its file. Members of a functor:
//
//   info        See Info.
//   its data    The parameters of the function; none, one or two f32.
//   operator()  f(x).
//   gradient    dx, from dy and either f(x), if info.from_result, or x. As a template that computes with operators and
//               `apply`, it takes f32 and, where tapes record the backward pass, tensors.
//   slope       f'(x), computed with differentiable ops, for a gradient that only takes f32. Without it, f is linear
//               between its kinks.

namespace lockstep::functor {

/// What holds for a function of any parameters.
struct Info {
  const char* name;  ///< of the op, in errors and traces
  bool from_result;  ///< whether the gradient is computed from f(x), not x
};

/// F{parameters...}(x); array/unary.cpp defines the same for tensors.
template <class F, class... P>
LOCKSTEP_HOST_DEVICE float apply(float x, P... parameters) {
  return F{parameters...}(x);
}

template <class... F>
struct List {};

/// Any functor of two lists.
template <class... F, class... G>
std::variant<F..., G...> any_of(List<F...>, List<G...>);

}  // namespace lockstep::functor
