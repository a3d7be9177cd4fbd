#pragma once

// Definitions of Tensor's member templates; included by tensor.h.

#include <type_traits>

#include <lockstep/runtime/memory/copy.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

template <class T>
T* Tensor::data() const {
  check_type(dtype_of<std::remove_const_t<T>>);
  return static_cast<T*>(raw_data());
}

template <class T>
std::span<T> Tensor::span() const {
  check_type(dtype_of<std::remove_const_t<T>>);
  check_host_dense("span");
  return {static_cast<T*>(raw_data()), static_cast<std::size_t>(elements_)};
}

template <class T>
T Tensor::item() const {
  require(elements_ == 1, "item() needs a tensor of one element, got {}", *this);
  if constexpr (!is_element<T>)
    return to_vector<T>().front();
  else {
    check_type(dtype_of<T>);
    return *on_host().data<T>();
  }
}

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  require(static_cast<std::int64_t>(values.size()) == shape.elements(), "{} values do not fill shape {}", values.size(),
          shape);
  Tensor result = empty(shape, dtype_of<T>);
  copy_bytes(result.raw_data(), result.device(), values.data(), LogicalDevice{}, values.size_bytes());
  return result;
}

namespace detail {
/// Calls visit(offset), with the element's offset in elements, for every element in row-major order.
template <class Visit>
void for_each_offset(const Shape& shape, const Shape& strides, Visit&& visit) {
  const std::int64_t count = shape.elements();
  Shape index = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) index[axis] = 0;
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    visit(offset);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}
}  // namespace detail

template <class T>
std::vector<T> Tensor::to_vector() const {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(elements_));
  const Tensor host = on_host();
  visit_dtype(dtype_, [&]<class U>() {
    const U* first = host.data<U>();
    detail::for_each_offset(shape_, strides_, [&](std::int64_t offset) {
      if constexpr (std::is_same_v<U, bfloat16>)
        values.push_back(static_cast<T>(static_cast<float>(first[offset])));
      else
        values.push_back(static_cast<T>(first[offset]));
    });
  });
  return values;
}

}  // namespace lockstep
