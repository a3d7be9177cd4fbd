#include <cstdint>
#include <type_traits>

#include <lockstep/kernels/elementwise/comparison_functions.h>
#include <lockstep/kernels/elementwise/comparison_kernels.h>
#include <lockstep/kernels/executor/map_elements.h>

namespace lockstep {

namespace {

/// a where `condition`, else b. Selects bits, since a loop over selections of elements is not vectorized.
struct Selected {
  template <class T>
  T operator()(std::uint8_t condition, T a, T b) const {
    const T mask = condition != 0 ? static_cast<T>(~T{0}) : T{0};
    return static_cast<T>((a & mask) | (b & ~mask));
  }
};

}  // namespace

void kernels::Compare::on_cpu() const {
  const StridedLoop<3> loop(out.shape(), {a.strides(), b.strides(), out.strides()});
  visit_dtype(a.dtype(), [&]<class T>() {
    // Truth values as the numbers 0 and 1, which saves code.
    using Element = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    const auto* const left = static_cast<const Element*>(a.raw_data());
    const auto* const right = static_cast<const Element*>(b.raw_data());
    visit_comparison(op, [&](auto f) { cpu::map_elements(f, loop, out.data<bool>(), left, right); });
  });
}

void kernels::Select::on_cpu() const {
  const StridedLoop<4> loop(out.shape(), {condition.strides(), a.strides(), b.strides(), out.strides()});
  const auto select = [&]<class Bits>() {
    cpu::map_elements(Selected{}, loop, static_cast<Bits*>(out.raw_data()),
                      static_cast<const std::uint8_t*>(condition.raw_data()), static_cast<const Bits*>(a.raw_data()),
                      static_cast<const Bits*>(b.raw_data()));
  };
  switch (size_of(out.dtype())) {
    case 1:
      return select.operator()<std::uint8_t>();
    case 2:
      return select.operator()<std::uint16_t>();
    case 4:
      return select.operator()<std::uint32_t>();
    default:
      return select.operator()<std::uint64_t>();
  }
}

}  // namespace lockstep
