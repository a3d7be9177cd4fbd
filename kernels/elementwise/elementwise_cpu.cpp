#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <variant>

#include <lockstep/kernels/elementwise/binary_functions.h>
#include <lockstep/kernels/elementwise/elementwise_functions.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/executor/parallel_strided.h>
#include <lockstep/kernels/executor/real.h>

namespace lockstep {

using cpu::for_each_run;
using cpu::grain;
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

/// out[i] = f(a[i * a_stride], b[i * b_stride]). The most frequent strides have loops of their own, which are
/// vectorized.
template <class F, class T>
[[gnu::flatten]] void binary_run(F f, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* out,
                                 std::int64_t n) {
  if (a_stride == 1 && b_stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) store(out[i], f(value_of(a[i]), value_of(b[i])));
  } else if (a_stride == 1 && b_stride == 0) {
    const float value = value_of(*b);
    for (std::int64_t i = 0; i < n; ++i) store(out[i], f(value_of(a[i]), value));
  } else if (a_stride == 0 && b_stride == 1) {
    const float value = value_of(*a);
    for (std::int64_t i = 0; i < n; ++i) store(out[i], f(value, value_of(b[i])));
  } else {
    for (std::int64_t i = 0; i < n; ++i) store(out[i], f(value_of(a[i * a_stride]), value_of(b[i * b_stride])));
  }
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
  if (!is_real(out.dtype())) return on_host(*this);
  const StridedLoop<3> loop(out.shape(), {a.strides(), b.strides(), out.strides()});
  visit_real(out.dtype(), [&]<class T>() {
    const T* left = a.data<T>();
    const T* right = b.data<T>();
    T* to = out.data<T>();
    visit_binary(op, [&](auto f) {
      for_each_run(loop, [&, f](const std::array<std::int64_t, 3>& at, std::int64_t n) {
        binary_run(f, left + at[0], loop.inner_stride(0), right + at[1], loop.inner_stride(1), to + at[2], n);
      });
    });
  });
}

void kernels::BinaryGradient::on_cpu() const {
  const StridedLoop<4> loop(out.shape(), {a.strides(), b.strides(), dy.strides(), out.strides()});
  std::array<std::int64_t, 4> step{};
  for (int i = 0; i < 4; ++i) step[i] = loop.inner_stride(i);
  visit_real(out.dtype(), [&]<class T>() {
    const T* left = a.data<T>();
    const T* right = b.data<T>();
    const T* upper = dy.data<T>();
    T* to = out.data<T>();
    visit_binary_gradient(op, of_first, [&](auto f) {
      for_each_run(loop, [=](const std::array<std::int64_t, 4>& at, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i)
          store(to[at[3] + i * step[3]], f(value_of(left[at[0] + i * step[0]]), value_of(right[at[1] + i * step[1]]),
                                           value_of(upper[at[2] + i * step[2]])));
      });
    });
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
