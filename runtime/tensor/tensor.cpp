#include "lockstep/runtime/tensor/tensor.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/tensor/parameter.h>

namespace lockstep {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool dense_layout(const Shape& shape, const Shape& strides) {
  if (shape.elements() == 0) return true;
  std::int64_t expected = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

/// `shape` with its -1, if any, replaced by the size that makes `elements` elements.
Shape resolve(Shape shape, std::int64_t elements) {
  int unknown = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != -1) continue;
    require(unknown < 0, "at most one size of {} may be -1", shape);
    unknown = axis;
  }
  if (unknown < 0) return shape;
  Shape others = shape;
  others[unknown] = 1;
  const std::int64_t known = others.elements();
  require(known > 0 && elements % known == 0, "{} elements do not divide into shape {}", elements, shape);
  shape[unknown] = elements / known;
  return shape;
}

}  // namespace

Tensor::Tensor(std::shared_ptr<Buffer> buffer, std::int64_t offset, const Shape& shape, const Shape& strides,
               DType dtype)
    : buffer_(std::move(buffer)),
      offset_(offset),
      shape_(shape),
      strides_(strides),
      elements_(shape.elements()),
      id_(next_id()),
      dtype_(dtype),
      dense_(dense_layout(shape, strides)) {}

Tensor Tensor::empty(const Shape& shape, DType dtype, const LogicalDevice& device) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.elements(), static_cast<std::int64_t>(size_of(dtype)), &bytes))
    fail("shape {} of {} takes more than 2^63 - 1 bytes", shape, lockstep::name(dtype));
  try {
    auto buffer = allocator(device).allocate(static_cast<std::size_t>(bytes));
    return {std::move(buffer), 0, shape, shape.dense_strides(), dtype};
  } catch (OutOfMemory& error) {
    error.add_context(fmt::format("a tensor of {} {}", lockstep::name(dtype), shape));
    throw;
  }
}

Tensor Tensor::from_blob(void* data, const Shape& shape, const Shape& strides, DType dtype, const LogicalDevice& device,
                         const std::shared_ptr<const void>& memory) {
  require(shape.rank() == strides.rank(), "memory of shape {} has strides {} of another rank", shape, strides);
  const std::size_t alignment = size_of(dtype);
  std::int64_t bytes = shape.elements() == 0 ? 0 : static_cast<std::int64_t>(alignment);
  bool fits = true;
  for (int axis = 0; axis < shape.rank() && bytes > 0; ++axis) {
    require(strides[axis] >= 0, "tensors have no negative strides, got {} of shape {}: copy the elements", strides,
            shape);
    std::int64_t more = 0;
    fits = fits && !__builtin_mul_overflow(shape[axis] - 1, strides[axis], &more) &&
           !__builtin_mul_overflow(more, static_cast<std::int64_t>(alignment), &more) &&
           !__builtin_add_overflow(bytes, more, &bytes);
  }
  require(fits, "shape {} with strides {} of {} takes more than 2^63 - 1 bytes", shape, strides, lockstep::name(dtype));
  require(data != nullptr || bytes == 0, "a null pointer was given as the memory of {} {}", lockstep::name(dtype),
          shape);
  require(reinterpret_cast<std::uintptr_t>(data) % alignment == 0,
          "memory at {} is not aligned to the {} bytes of {}: copy the elements", data, alignment,
          lockstep::name(dtype));
  auto buffer =
      std::make_shared<Buffer>(allocator(device).shared_from_this(), memory, data, static_cast<std::size_t>(bytes));
  return {std::move(buffer), 0, shape, strides, dtype};
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype) {
  require(holds(dtype, value), "full with {} needs a dtype that can represent it, such as f32, got {}", value,
          lockstep::name(dtype));
  Tensor result = empty(shape, dtype);
  const std::size_t bytes = static_cast<std::size_t>(result.elements()) * size_of(dtype);
  if (value == 0 && !std::signbit(value)) {
    clear_bytes(result.raw_data(), result.device(), bytes);
    return result;
  }
  const bool here = result.device().kind == DeviceKind::cpu;
  const Tensor filled = here ? result : empty(shape, dtype, LogicalDevice{});
  visit_dtype(dtype, [&]<class T>() {
    T element;
    if constexpr (std::is_same_v<T, bfloat16>)
      element = bfloat16(static_cast<float>(value));
    else
      element = static_cast<T>(value);
    std::fill_n(filled.data<T>(), filled.elements(), element);
  });
  if (!here) copy(filled, result);
  return result;
}

Tensor Tensor::on_host() const {
  if (device().kind == DeviceKind::cpu) return *this;
  std::int64_t extent = elements_ > 0 ? 1 : 0;
  for (int axis = 0; axis < rank() && extent > 0; ++axis) extent += (shape_[axis] - 1) * strides_[axis];
  Tensor host = empty({extent}, dtype_, LogicalDevice{});
  copy_bytes(host.raw_data(), host.device(), raw_data(), device(), static_cast<std::size_t>(extent) * size_of(dtype_));
  return {std::move(host.buffer_), 0, shape_, strides_, dtype_};
}

const LogicalDevice& Tensor::device() const {
  require<LogicError>(defined(), "an undefined tensor is on no device");
  return buffer_->device();
}

Tensor Tensor::as_parameter(std::string name) const {
  Tensor result(buffer_, offset_, shape_, strides_, dtype_);
  result.is_parameter_ = true;
  result.parameter_ = std::make_shared<Parameter>(std::move(name));
  return result;
}

Tensor Tensor::in_place_of(const Tensor& other) const {
  Tensor result = *this;
  result.id_ = other.id_;
  result.is_parameter_ = other.is_parameter_;
  result.parameter_ = other.parameter_;
  return result;
}

namespace {

/// A deleter that keeps a tensor's memory and its origin alive.
struct KeepsOrigin {
  std::shared_ptr<Buffer> memory;
  std::string op;
  Tensor origin;
  std::uint64_t id;  ///< id of the tensor that has the origin
  void operator()(Buffer*) const {}
};

}  // namespace

Tensor Tensor::with_origin(std::string_view op, const Tensor& origin) const {
  Tensor result = *this;
  result.buffer_ = std::shared_ptr<Buffer>(buffer_.get(), KeepsOrigin{buffer_, std::string(op), origin, id_});
  return result;
}

Tensor Tensor::origin(std::string_view op) const {
  const auto* const keeps = std::get_deleter<KeepsOrigin>(buffer_);
  return keeps != nullptr && keeps->id == id_ && keeps->op == op ? keeps->origin : Tensor();
}

void Tensor::move_into(const Tensor& memory) const {
  require<BrokenInvariant>(
      dense_ && memory.dense_ && offset_ == 0 && shape_ == memory.shape_ && dtype_ == memory.dtype_,
      "{} cannot move into {}", *this, memory);
  buffer_->move_into(memory.buffer_, static_cast<std::size_t>(memory.offset_) * size_of(dtype_));
}

void Tensor::keep_memory() const { buffer_->keep_block(); }

Tensor Tensor::viewed(std::int64_t offset, const Shape& shape, const Shape& strides) const {
  Tensor result(buffer_, offset, shape, strides, dtype_);
  result.parameter_ = parameter_;
  return result;
}

Tensor Tensor::view(const Shape& shape) const {
  const Shape resolved = resolve(shape, elements_);
  require(dense_, "a strided tensor, {}, has no view of another shape", *this);
  require(resolved.elements() == elements_, "{} has no view of shape {}", *this, shape);
  return viewed(offset_, resolved, resolved.dense_strides());
}

Tensor Tensor::slice_view(int axis, std::int64_t begin, std::int64_t end) const {
  axis = shape_.normalize_axis(axis);
  require(begin >= 0 && begin <= end && end <= shape_[axis], "slice [{}, {}) is outside axis {} of {}", begin, end,
          axis, *this);
  Shape shape = shape_;
  shape[axis] = end - begin;
  return viewed(offset_ + begin * strides_[axis], shape, strides_);
}

Tensor Tensor::transposed_view(int first, int second) const {
  first = shape_.normalize_axis(first);
  second = shape_.normalize_axis(second);
  Shape shape = shape_;
  Shape strides = strides_;
  std::swap(shape[first], shape[second]);
  std::swap(strides[first], strides[second]);
  return viewed(offset_, shape, strides);
}

Tensor Tensor::broadcast_view(const Shape& shape) const {
  Shape strides = shape;
  const int added = shape.rank() - rank();
  require(added >= 0, "{} does not broadcast to {}", *this, shape);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t size = axis < added ? 1 : shape_[axis - added];
    require(size == shape[axis] || size == 1, "{} does not broadcast to {}", *this, shape);
    strides[axis] = axis < added || size != shape[axis] ? 0 : strides_[axis - added];
  }
  return viewed(offset_, shape, strides);
}

Tensor Tensor::joined(std::span<const Tensor> parts, int axis) {
  if (parts.empty() || !parts[0].defined()) return {};
  const Tensor& first = parts[0];
  axis = first.shape_.normalize_axis(axis);
  Shape shape = first.shape_;
  shape[axis] = 0;
  std::int64_t offset = first.offset_;
  for (const Tensor& part : parts) {
    if (part.buffer_ != first.buffer_ || part.dtype_ != first.dtype_ || part.offset_ != offset) return {};
    if (part.parameter_ != first.parameter_) return {};  // tapes would not see changes of the others
    if (!(part.strides_ == first.strides_)) return {};
    for (int other = 0; other < shape.rank(); ++other)
      if (other != axis && part.shape_[other] != shape[other]) return {};
    shape[axis] += part.shape_[axis];
    offset += part.shape_[axis] * first.strides_[axis];
  }
  if (!(first.strides_ == shape.dense_strides())) return {};
  return first.viewed(first.offset_, shape, first.strides_);
}

std::string Tensor::text() const {
  if (!defined()) return "an undefined tensor";
  return fmt::format("{} {} on {}", lockstep::name(dtype_), shape_.text(), device().name());
}

void Tensor::check_type(DType wanted) const {
  if (wanted == dtype_ && defined()) [[likely]]
    return;
  require<LogicError>(defined(), "an undefined tensor has no elements");
  fail("{} cannot be read as {}", *this, lockstep::name(wanted));
}

void Tensor::check_host_dense(const char* what) const {
  if (dense_ && device().kind == DeviceKind::cpu) [[likely]]
    return;
  require(dense_, "{}() needs a dense tensor, got a strided view {}", what, *this);
  fail("{}() needs a tensor in host memory, got {}", what, *this);
}

void copy(const Tensor& from, const Tensor& to) {
  require(from.defined() && to.defined(), "copy needs defined tensors, got {} and {}", from, to);
  require(from.shape() == to.shape() && from.dtype() == to.dtype(), "cannot copy {} to {}", from, to);
  require(from.is_dense() && to.is_dense(), "copy needs dense tensors, got {} and {}", from, to);
  copy_bytes(to.raw_data(), to.device(), from.raw_data(), from.device(),
             static_cast<std::size_t>(from.elements()) * size_of(from.dtype()));
}

}  // namespace lockstep

auto fmt::formatter<lockstep::Tensor>::format(const lockstep::Tensor& tensor, fmt::format_context& context) const
    -> fmt::format_context::iterator {
  return fmt::formatter<fmt::string_view>::format(tensor.text(), context);
}
