#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <lockstep/runtime/core/bfloat16.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

/// Element type of a tensor: IEEE f32, bfloat16, signed 32- and 64-bit integers, unsigned bytes, C++ bool.
enum class DType : std::uint8_t { f32, bf16, i32, i64, u8, boolean };

/// "f32", "bf16", "i32", "i64", "u8" or "bool".
constexpr std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
    case DType::boolean:
      return "bool";
  }
  return "?";
}

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::i64:
      return 8;
    case DType::u8:
    case DType::boolean:
      return 1;
  }
  return 0;
}

/// @cond
template <class T>
struct dtype_of_t;
template <>
struct dtype_of_t<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of_t<bfloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of_t<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of_t<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_of_t<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct dtype_of_t<bool> {
  static constexpr DType value = DType::boolean;
};
/// @endcond

/// The DType of a C++ element type.
template <class T>
inline constexpr DType dtype_of = dtype_of_t<T>::value;

/// Whether T is the C++ type of some DType.
template <class T>
concept is_element = requires {
  dtype_of_t<T>::value;
};

/// Calls `f.operator()<T>()` with the C++ type of `dtype` and returns its result.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::bf16:
      return f.template operator()<bfloat16>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::boolean:
      return f.template operator()<bool>();
  }
  fail<BrokenInvariant>("unknown dtype {}", static_cast<int>(dtype));
}

/// Whether `dtype` is a floating-point type: f32 or bf16.
constexpr bool is_real(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

/// Whether `dtype` can represent `number`. Always true for f32 and bf16, which round it.
inline bool holds(DType dtype, double number) {
  return visit_dtype(dtype, [&]<class T>() {
    if constexpr (is_real(dtype_of<T>))
      return true;
    else  // the largest i64 is not a double
      return number >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
             number < static_cast<double>(std::numeric_limits<T>::max()) + 1 &&
             static_cast<double>(static_cast<T>(number)) == number;
  });
}

/// Whether `dtype` is i32 or i64.
constexpr bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

/// Calls `f.operator()<T>()` with float or bfloat16 and returns its result. Precondition: is_real(dtype).
template <class F>
decltype(auto) visit_real(DType dtype, F&& f) {
  return dtype == DType::bf16 ? f.template operator()<bfloat16>() : f.template operator()<float>();
}

}  // namespace lockstep
