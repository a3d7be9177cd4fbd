#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <variant>

#include <lockstep/kernels/elementwise/binary_functions.h>
#include <lockstep/kernels/elementwise/elementwise_functions.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/executor/map_elements.h>
#include <lockstep/kernels/executor/parallel_strided.h>
#include <lockstep/kernels/executor/real.h>

namespace lockstep {

using cpu::for_each_run;
using cpu::grain;
using cpu::map_elements;
using cpu::store;
using cpu::value_of;

namespace {

// Loops that call functions of elements inline them all: a loop that contains a call is not vectorized.

template <class F, class T>
[[gnu::flatten]] void unary_run(F f, const T* x, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) store(y[i], f(value_of(x[i])));
}

template <class F, class T>
[[gnu::flatten]] void unary_gradient_run(F f, const T* kept, const T* dy, T* dx, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) store(dx[i], f.gradient(value_of(kept[i]), value_of(dy[i])));
}

}  // namespace

// Functors of one element are visited inside of the parallel loops, so that these are compiled once for each dtype.

void kernels::Unary::on_cpu() const {
  visit_real(y.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    parallel_for(y.elements(), grain, [&](std::int64_t begin, std::int64_t end) {
      std::visit([&](auto f) { unary_run(f, from + begin, to + begin, end - begin); }, function);
    });
  });
}

void kernels::UnaryGradient::on_cpu() const {
  visit_real(dx.dtype(), [&]<class T>() {
    const T* at = kept.data<T>();
    const T* upper = dy.data<T>();
    T* to = dx.data<T>();
    parallel_for(dx.elements(), grain, [&](std::int64_t begin, std::int64_t end) {
      std::visit([&](auto f) { unary_gradient_run(f, at + begin, upper + begin, to + begin, end - begin); }, function);
    });
  });
}

void kernels::Binary::on_cpu() const {
  const StridedLoop<3> loop(out.shape(), {a.strides(), b.strides(), out.strides()});
  if (takes_integers(out.dtype()))
    return visit_integer(out.dtype(), [&]<class T>() {
      visit_integer_binary(op, [&](auto f) { map_elements(f, loop, out.data<T>(), a.data<T>(), b.data<T>()); });
    });
  visit_real(out.dtype(), [&]<class T>() {
    visit_binary(op, [&](auto f) { map_elements(f, loop, out.data<T>(), a.data<T>(), b.data<T>()); });
  });
}

void kernels::BinaryGradient::on_cpu() const {
  const StridedLoop<4> loop(out.shape(), {a.strides(), b.strides(), dy.strides(), out.strides()});
  visit_real(out.dtype(), [&]<class T>() {
    visit_binary_gradient(
        op, of_first, [&](auto f) { map_elements(f, loop, out.data<T>(), a.data<T>(), b.data<T>(), dy.data<T>()); });
  });
}

void kernels::Affine::on_cpu() const {
  visit_real(y.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    parallel_for(y.elements(), grain, [&](std::int64_t begin, std::int64_t end) {
      unary_run(functor::Affine{.scale = scale, .shift = shift}, from + begin, to + begin, end - begin);
    });
  });
}

void kernels::Convert::on_cpu() const {
  const StridedLoop<2> loop(y.shape(), {x.strides(), y.strides()});
  const std::int64_t from_stride = loop.inner_stride(0);
  const std::int64_t to_stride = loop.inner_stride(1);
  visit_dtype(x.dtype(), [&]<class Source>() {
    // Truth values as the numbers 0 and 1, which saves code and is faster.
    using From = std::conditional_t<std::is_same_v<Source, bool>, std::uint8_t, Source>;
    const From* from = static_cast<const From*>(x.raw_data());
    visit_dtype(y.dtype(), [&]<class To>() {
      To* to = y.data<To>();
      for_each_run(loop, [=](const std::array<std::int64_t, 2>& at, std::int64_t n) {
        const From* first = from + at[0];
        To* result = to + at[1];
        if (from_stride == 1 && to_stride == 1)
          for (std::int64_t i = 0; i < n; ++i) result[i] = convert_element<To>(first[i]);
        else if (from_stride == 0 && to_stride == 1)
          std::fill_n(result, n, convert_element<To>(*first));
        else
          for (std::int64_t i = 0; i < n; ++i) result[i * to_stride] = convert_element<To>(first[i * from_stride]);
      });
    });
  });
}

void kernels::Fill::on_cpu() const {
  visit_dtype(x.dtype(), [&]<class T>() {
    T* to = x.data<T>();
    parallel_for(x.elements(), grain, [to, filled = convert_element<T>(value)](std::int64_t begin, std::int64_t end) {
      std::fill(to + begin, to + end, filled);
    });
  });
}

std::vector<kernels::Operand> kernels::Clear::operands() const {
  std::vector<Operand> list;
  for (const Range& range : ranges) list.emplace_back(range.begin, range.count);
  return list;
}

std::vector<kernels::Operand> kernels::MovingAverages::operands() const {
  std::vector<Operand> list;
  for (const Average& of : averages) {
    list.emplace_back(of.average, of.count);
    list.emplace_back(of.value, of.count);
  }
  return list;
}

}  // namespace lockstep
