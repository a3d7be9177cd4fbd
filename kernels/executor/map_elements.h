#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <lockstep/kernels/executor/parallel_strided.h>
#include <lockstep/kernels/executor/real.h>
#include <lockstep/runtime/tensor/tensor.h>

// Functions of single elements, applied to tensors of any strides.

namespace lockstep::cpu {

namespace detail {

/// The element, in f32 if it is bf16.
template <class T>
auto argument_of(const T& element) {
  if constexpr (std::is_same_v<T, bfloat16>)
    return value_of(element);
  else
    return element;
}

/// result[e] = f(operands[e]...) for n elements; those of operand i are steps[i] apart. The steps are copied, because
/// the compiler must know that storing elements does not change them.
template <std::size_t... i, class F, class Steps, class To, class... From>
void map_run(std::index_sequence<i...>, F f, const Steps steps, std::int64_t n, To* result, const From*... operands) {
  for (std::int64_t e = 0; e < n; ++e) {
    const auto value = f(argument_of(operands[e * steps[i]])...);
    if constexpr (std::is_same_v<To, bfloat16>)
      store(result[e], value);
    else
      result[e] = value;
  }
}

/// The steps of N contiguous operands; operand number `repeated`, if there is one, has a single element instead.
template <std::size_t N>
constexpr std::array<std::int64_t, N> contiguous_steps(std::size_t repeated) {
  std::array<std::int64_t, N> steps{};
  for (std::size_t i = 0; i < N; ++i) steps[i] = i == repeated ? 0 : 1;
  return steps;
}

/// map_run with a loop of its own for each contiguous_steps<N>(repeated), from `at_most` down, and one for all other
/// steps. Inlines f, because a loop that contains a call is not vectorized.
template <std::size_t at_most, class F, std::size_t N, class To, class... From>
[[gnu::flatten]] void map_run_by_steps(std::size_t repeated, const F& f, const std::array<std::int64_t, N>& steps,
                                       std::int64_t n, To* result, const From*... operands) {
  if (repeated == at_most)
    map_run(std::make_index_sequence<N>(), f, contiguous_steps<N>(at_most), n, result, operands...);
  else if constexpr (at_most > 0)
    map_run_by_steps<at_most - 1>(repeated, f, steps, n, result, operands...);
  else
    map_run(std::make_index_sequence<N>(), f, steps, n, result, operands...);
}

}  // namespace detail

/// result = f(operands...), element by element, on several threads; f gets elements of bf16 in f32. `loop` is over the
/// operands and the result, which is dense. Loops over contiguous operands, of which one may be broadcast, are
/// vectorized if f permits it.
template <class F, class To, class... From>
void map_elements(const F& f, const StridedLoop<sizeof...(From) + 1>& loop, To* result, const From*... operands) {
  constexpr std::size_t count = sizeof...(From);
  std::array<std::int64_t, count> steps;
  for (std::size_t i = 0; i < count; ++i) steps[i] = loop.inner_stride(static_cast<int>(i));
  std::size_t repeated = 0;
  while (repeated <= count && steps != detail::contiguous_steps<count>(repeated)) ++repeated;
  for_each_run(loop, [=](const std::array<std::int64_t, count + 1>& first, std::int64_t n) {
    const auto run = [&]<std::size_t... i>(std::index_sequence<i...>) {
      detail::map_run_by_steps<count>(repeated, f, steps, n, result + first[count], operands + first[i]...);
    };
    run(std::index_sequence_for<From...>());
  });
}

}  // namespace lockstep::cpu
