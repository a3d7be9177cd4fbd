#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <lockstep/runtime/core/dtype.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/shape.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/memory/buffer.h>

namespace lockstep {

class Parameter;

/// A typed, strided view of device memory. Copying a Tensor copies the handle, not the elements. Images are NHWC.
/// Tapes identify a tensor by its id: copies of a handle share it; views and results of ops get a new one.
class Tensor {
 public:
  /// An undefined tensor, without shape and memory. Stands for "no value" (a missing bias, a gradient that does not
  /// exist).
  Tensor() = default;

  /// A dense tensor on `device` with uninitialized elements. Throws OutOfMemory, InvalidArgument for a negative size or
  /// more than 2^63 - 1 bytes, and Unsupported if this build or machine cannot use the device.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32,
                      const LogicalDevice& device = current_context().device);
  ///@{
  /// A dense tensor on the calling thread's device whose elements are all `value` (full) or 0 (zeros). Throws the same
  /// errors as empty, and InvalidArgument if the dtype cannot represent `value` (holds).
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32) { return full(shape, 0, dtype); }
  ///@}
  /// A dense tensor on the calling thread's device with a copy of host values in row-major order. Throws OutOfMemory,
  /// and InvalidArgument unless values.size() == shape.elements().
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  /// Same as above, for a vector.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> holds bits
      const auto elements = std::make_unique<bool[]>(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) elements[i] = values[i];
      return from(std::span<const bool>(elements.get(), values.size()), shape);
    } else {
      return from(std::span<const T>(values), shape);
    }
  }
  /// libtorch's from_blob: a tensor whose elements are at `data`. Its handles and views hold `memory`, which must not
  /// be null and must keep `data` valid. `strides` are in elements. Throws InvalidArgument for negative sizes,
  /// different numbers of sizes and strides, and an address that is not aligned to the dtype. If there are elements,
  /// also throws it for negative strides, more than 2^63 - 1 bytes and a null pointer. Throws Unsupported if this
  /// machine cannot use the device.
  static Tensor from_blob(void* data, const Shape& shape, const Shape& strides, DType dtype,
                          const LogicalDevice& device, const std::shared_ptr<const void>& memory);
  /// A tensor of rank 0 on the calling thread's device.
  template <class T>
  static Tensor scalar(T value) {
    return from(std::span<const T>(&value, 1), Shape{});
  }

  /// False for a default-constructed handle.
  bool defined() const { return buffer_ != nullptr; }
  /// Size of each axis; rank 0 when undefined.
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }  ///< in elements
  /// Size of `axis`; a negative axis counts from the end. Throws InvalidArgument when out of range.
  std::int64_t dim(int axis) const { return shape_.dim(axis); }
  /// Number of axes.
  int rank() const { return shape_.rank(); }
  /// The product of the sizes; 0 when undefined.
  std::int64_t elements() const { return elements_; }
  /// Type of the elements; f32 when undefined.
  DType dtype() const { return dtype_; }
  /// The device whose memory holds the elements. Throws LogicError when undefined.
  const LogicalDevice& device() const;
  /// Whether the elements lie in row-major order without gaps.
  bool is_dense() const { return dense_; }
  /// Identity for tapes; 0 when undefined.
  std::uint64_t id() const { return id_; }
  /// Whether this is a trainable variable, which every tape watches automatically.
  bool is_parameter() const { return is_parameter_; }
  /// If this tensor is a trainable variable's copy or a view of one, the Parameter of that copy; otherwise null.
  const std::shared_ptr<Parameter>& parameter() const { return parameter_; }
  /// A handle to the same elements, with a new id, that tapes treat as a trainable parameter called `name`.
  Tensor as_parameter(std::string name = {}) const;
  /// A handle to this tensor with the id of `other`, so that tapes treat the two as one. Precondition: equal values.
  Tensor in_place_of(const Tensor& other) const;
  ///@{
  /// with_origin returns a handle to this tensor and records in it that `op`, applied to `origin`, returned the tensor.
  /// The record keeps `origin` alive while the handle or a view of it exists. origin returns the operand recorded for
  /// `op`; for views, and if there is no such record, it returns an undefined tensor.
  Tensor with_origin(std::string_view op, const Tensor& origin) const;
  Tensor origin(std::string_view op) const;
  ///@}
  /// Frees this tensor's memory and makes all handles to it and to its views refer to `memory`, which must already hold
  /// the same elements. Does nothing after keep_memory. Preconditions: this tensor covers its whole memory, which
  /// lockstep allocated and which has not been moved before; `memory` is never moved itself; no other thread uses
  /// either tensor meanwhile. Throws BrokenInvariant unless both are dense and agree in shape and dtype.
  void move_into(const Tensor& memory) const;
  /// Keeps the elements at their address as long as a handle to them exists, for users outside of lockstep.
  void keep_memory() const;

  /// Pointer to the first element. Throws InvalidArgument when T is not the dtype, LogicError when undefined.
  template <class T>
  T* data() const;
  /// Pointer to the first element, for any dtype. Precondition: defined.
  void* raw_data() const {
    return static_cast<std::byte*>(buffer_->data()) + offset_ * static_cast<std::int64_t>(size_of(dtype_));
  }
  /// The elements of a dense tensor in host memory. Throws InvalidArgument if the tensor is not dense, is not in host
  /// memory or T is not the dtype; LogicError when undefined.
  template <class T>
  std::span<T> span() const;
  /// The element of a one-element tensor. T is the C++ type of the dtype, or a type that belongs to no dtype, such as
  /// double; the element is then converted to T. Waits for the GPU that holds the tensor. Throws InvalidArgument if the
  /// number of elements is not 1 or T belongs to another dtype.
  template <class T>
  T item() const;
  /// A host copy of the elements in row-major order, converted to T. Waits for the GPU that holds them.
  template <class T>
  std::vector<T> to_vector() const;

  // Views share the memory. Tapes do not record them; reshape, slice, transpose and broadcast_to are the differentiable
  // ops.

  /// The same elements in another shape; one size may be -1 and is then inferred. Throws InvalidArgument when not dense
  /// or when the number of elements differs.
  Tensor view(const Shape& shape) const;
  /// Elements [begin, end) along `axis`; a negative axis counts from the end. Throws InvalidArgument when out of range.
  Tensor slice_view(int axis, std::int64_t begin, std::int64_t end) const;
  /// The elements with two axes exchanged; negative axes count from the end. Throws InvalidArgument when out of range.
  Tensor transposed_view(int first = 0, int second = 1) const;
  /// The elements broadcast to `shape` by NumPy's rules, with stride 0 along repeated axes; read-only. Throws
  /// InvalidArgument when the shapes do not broadcast.
  Tensor broadcast_view(const Shape& shape) const;
  /// Joins the parts along `axis` without a copy: returns a view of all parts if they follow one another in the same
  /// memory and together form a dense tensor. If one part is a view of a trainable variable, all parts must be views of
  /// the same variable. Otherwise returns an undefined tensor. Concatenation uses it for parts that were written in
  /// place. Throws InvalidArgument when `axis` is out of range.
  static Tensor joined(std::span<const Tensor> parts, int axis);
  /// Whether no other handle or view shares this handle's memory. Always false for from_blob's tensors and after
  /// move_into. A handle that with_origin returned does not count the original handle; the original handle counts the
  /// returned one.
  bool unique() const { return buffer_.use_count() == 1 && buffer_->has_block(); }

  /// The elements in host memory. If this tensor is in host memory, returns a handle to it, which shares its memory;
  /// otherwise waits for the GPU's work and returns a copy with the same strides. Throws the same errors as
  /// GpuPlatform::copy, and LogicError when undefined.
  Tensor on_host() const;

  /// A description, e.g. "f32 (2, 3) on CPU:0".
  std::string text() const;

 private:
  Tensor(std::shared_ptr<Buffer> buffer, std::int64_t offset, const Shape& shape, const Shape& strides, DType dtype);
  Tensor viewed(std::int64_t offset, const Shape& shape, const Shape& strides) const;
  void check_type(DType wanted) const;
  void check_host_dense(const char* what) const;

  std::shared_ptr<Buffer> buffer_;
  std::int64_t offset_ = 0;  ///< in elements
  Shape shape_;
  Shape strides_;
  std::int64_t elements_ = 0;
  std::uint64_t id_ = 0;
  DType dtype_ = DType::f32;
  bool dense_ = true;
  bool is_parameter_ = false;
  std::shared_ptr<Parameter> parameter_;
};

/// Copies a dense tensor's elements into another dense tensor, between any devices; see copy_bytes. Throws
/// InvalidArgument unless both are defined, dense and agree in shape and dtype.
void copy(const Tensor& from, const Tensor& to);

}  // namespace lockstep

/// @cond
template <>
struct fmt::formatter<lockstep::Tensor> : fmt::formatter<fmt::string_view> {
  auto format(const lockstep::Tensor& tensor, fmt::format_context& context) const -> fmt::format_context::iterator;
};
/// @endcond

#include <lockstep/runtime/tensor/tensor_access.h>
