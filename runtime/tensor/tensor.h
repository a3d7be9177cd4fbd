#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/runtime/core/dtype.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/shape.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/memory/allocator.h>

namespace lockstep {

/// A typed, strided view of device memory. Copying a Tensor copies the handle, not the elements. Images are NHWC.
/// Tapes know a tensor by its id: handles that are copies of each other share it, views and results have their own.
class Tensor {
 public:
  /// Undefined: no shape, no memory. Stands for "no value" (a missing bias, a gradient that does not exist).
  Tensor() = default;

  /// Uninitialized, dense, on `device`. Throws OutOfMemory.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32,
                      const LogicalDevice& device = current_context().device);
  ///@{
  /// Each element `value`, or 0, on the calling thread's device. Throws OutOfMemory.
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32) { return full(shape, 0, dtype); }
  ///@}
  /// A copy of host values in row-major order. Throws InvalidArgument unless values.size() == shape.elements().
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  /// The same from a vector.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }
  /// A tensor of rank 0.
  template <class T>
  static Tensor scalar(T value) {
    return from(std::span<const T>(&value, 1), Shape{});
  }

  /// Whether there is a value: false for a default-constructed handle.
  bool defined() const { return buffer_ != nullptr; }
  /// Size of each axis; rank 0 when undefined.
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }  ///< in elements
  /// Size of an axis; a negative one counts from the end. Throws InvalidArgument when out of range.
  std::int64_t dim(int axis) const { return shape_.dim(axis); }
  /// Number of axes.
  int rank() const { return shape_.rank(); }
  /// The product of the sizes; 0 when undefined.
  std::int64_t elements() const { return elements_; }
  /// The type of an element; f32 when undefined.
  DType dtype() const { return dtype_; }
  /// Throws LogicError when undefined.
  const LogicalDevice& device() const;
  /// Whether the elements lie in row-major order without gaps.
  bool is_dense() const { return dense_; }
  /// Identity for tapes; 0 when undefined.
  std::uint64_t id() const { return id_; }
  /// Trainable variables are watched by every tape without being asked.
  bool is_parameter() const { return parameter_; }
  /// This handle's tensor, known to tapes as a trainable parameter under a new id.
  Tensor as_parameter() const;
  /// This handle's tensor with the identity of `other`, whose value it has: tapes take them for the same.
  Tensor in_place_of(const Tensor& other) const;
  ///@{
  /// This handle's tensor as the result of `op` of `origin`, which lives as long as anyone uses this one's memory; and
  /// what it is that op's result of: undefined where nothing is known, as of views.
  Tensor with_origin(std::string_view op, const Tensor& origin) const;
  Tensor origin(std::string_view op) const;
  ///@}
  /// Gives this tensor's memory back: it, its views and all other handles to them are views of `memory` from now on,
  /// where the same elements are already. Preconditions: dense, all of its memory, which has not moved before, and no
  /// thread uses either meanwhile.
  void move_into(const Tensor& memory) const;

  /// First element. Throws InvalidArgument when T is not the dtype.
  template <class T>
  T* data() const;
  /// First element, of whatever dtype. Precondition: defined.
  void* raw_data() const {
    return static_cast<std::byte*>(buffer_->data()) + offset_ * static_cast<std::int64_t>(size_of(dtype_));
  }
  /// The elements of a dense host tensor. Throws InvalidArgument when it is not dense or T is not the dtype.
  template <class T>
  std::span<T> span() const;
  /// The one element of a one-element tensor; T is its dtype, or a type that no tensor has, such as double, to which
  /// the element is converted. Waits for a GPU's.
  template <class T>
  T item() const;
  /// A copy of the elements in row-major order, converted to T. Waits for a GPU's.
  template <class T>
  std::vector<T> to_vector() const;

  // Views share the memory and record nothing; the ops of the same name are differentiable.

  /// The same elements in another shape; one size may be -1. Throws InvalidArgument unless dense and equal in number.
  Tensor view(const Shape& shape) const;
  /// Elements [begin, end) of `axis`.
  Tensor slice_view(int axis, std::int64_t begin, std::int64_t end) const;
  /// A matrix with its axes exchanged. Throws InvalidArgument unless there are two.
  Tensor transposed_view() const;
  /// The elements repeated to `shape` as NumPy broadcasts them, with stride 0; for reading only. Throws InvalidArgument
  /// when the shapes do not broadcast so.
  Tensor broadcast_view(const Shape& shape) const;
  /// The dense tensor whose consecutive slices along `axis` the parts are, all of it and in order; undefined if they
  /// are not. Lets a concatenation of results that were written in place cost nothing.
  static Tensor joined(std::span<const Tensor> parts, int axis);
  /// True when this handle is the only user of its memory.
  bool unique() const { return buffer_.use_count() == 1; }

  /// The elements in host memory, which others may share: this handle's own if they are there, else a copy of equal
  /// strides, for which a GPU's work is waited for. Throws what GpuPlatform::synchronize does.
  Tensor on_host() const;

  /// "f32 (2, 3) on CPU:0".
  std::string text() const;

 private:
  Tensor(std::shared_ptr<Buffer> buffer, std::int64_t offset, const Shape& shape, const Shape& strides, DType dtype);
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
  bool parameter_ = false;
};

/// Copies the elements of a dense tensor into another dense one of the same shape and dtype.
void copy(const Tensor& from, const Tensor& to);

}  // namespace lockstep

/// @cond
template <>
struct fmt::formatter<lockstep::Tensor> : fmt::formatter<fmt::string_view> {
  auto format(const lockstep::Tensor& tensor, fmt::format_context& context) const -> fmt::format_context::iterator;
};
/// @endcond

#include <lockstep/runtime/tensor/tensor_access.h>
