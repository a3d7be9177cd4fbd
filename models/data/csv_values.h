#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Like std::vector, but in the memory of a tensor: new elements are not initialized, and later tensors reuse the
/// memory.
template <class T>
class CsvValues {
 public:
  /// The values; valid until the next one is appended.
  std::span<T> values() const { return {begin_, size_}; }
  /// The number of values that there is room for.
  std::size_t capacity() const { return capacity_; }
  /// Makes room for `capacity` values.
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    const Tensor larger = Tensor::empty({static_cast<std::int64_t>(capacity)}, dtype_of<T>, LogicalDevice{});
    std::ranges::copy(values(), larger.data<T>());
    memory_ = larger;
    begin_ = memory_.data<T>();
    capacity_ = capacity;
  }
  /// Makes room for `count` values after the last one and returns a pointer to this room.
  T* room_for(std::size_t count) {
    if (size_ + count > capacity_) reserve(std::max(size_ + count, 2 * capacity_));
    return begin_ + size_;
  }
  /// Appends `count` values, which have been written to the memory that room_for() returned.
  void append(std::size_t count) { size_ += count; }
  /// Appends a value.
  void push_back(T value) {
    *room_for(1) = value;
    append(1);
  }

 private:
  Tensor memory_;
  T* begin_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace lockstep
