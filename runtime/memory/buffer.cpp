#include "lockstep/runtime/memory/buffer.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/memory/block_list.h>
#include <lockstep/runtime/memory/borrowed_memory.h>

namespace lockstep {
namespace {

/// GPU memory that other libraries have allocated, by its buffer.
class BorrowedRanges {
 public:
  void add(const Buffer* buffer, const void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ranges_[buffer] = {static_cast<const std::byte*>(data), bytes};
    size_ = ranges_.size();
  }
  void remove(const Buffer* buffer) noexcept {
    if (size_ == 0) return;
    const std::lock_guard lock(mutex_);
    ranges_.erase(buffer);
    size_ = ranges_.size();
  }
  bool contains(const std::byte* address) {
    if (size_ == 0) return false;
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(ranges_, [&](const auto& entry) {
      const std::span<const std::byte>& range = entry.second;
      return address >= range.data() && address < range.data() + range.size();
    });
  }

 private:
  std::atomic<std::size_t> size_ = 0;  ///< of ranges_; usually 0
  std::mutex mutex_;
  std::map<const Buffer*, std::span<const std::byte>> ranges_;
};

BorrowedRanges& borrowed_ranges() {
  static auto& all = *new BorrowedRanges;  // never destroyed: tensors in static storage use it
  return all;
}

}  // namespace

bool is_borrowed(const void* address) { return borrowed_ranges().contains(static_cast<const std::byte*>(address)); }

Buffer::Buffer(std::shared_ptr<CachingAllocator> owner, MemoryBlock& block)
    : owner_(std::move(owner)), block_(&block), data_(block.data), bytes_(block.bytes) {}

Buffer::Buffer(std::shared_ptr<CachingAllocator> owner, std::shared_ptr<const void> memory, void* data,
               std::size_t bytes)
    : owner_(std::move(owner)), other_(std::move(memory)), data_(data), bytes_(bytes) {
  if (device().kind != DeviceKind::gpu) return;
  if (contracts::checked()) contracts::begin_block(this, device(), data_, bytes_);
  borrowed_ranges().add(this, data_, bytes_);
}

Buffer::~Buffer() {
  if (!other_) {
    owner_->take_back(*block_);
  } else if (device().kind == DeviceKind::gpu) {
    borrowed_ranges().remove(this);
    if (contracts::checked()) contracts::end_block(this, data_);
  }
}

void Buffer::keep_block() { std::atomic_ref(keeps_block_).store(true); }

const LogicalDevice& Buffer::device() const { return owner_->device(); }

void Buffer::move_into(std::shared_ptr<Buffer> other, std::size_t offset) {
  if (std::atomic_ref(keeps_block_).load()) return;
  data_ = static_cast<std::byte*>(other->data()) + offset;
  bytes_ = other->bytes() - offset;
  owner_->take_back(*block_);
  owner_ = other->owner_;
  other_ = std::move(other);
}

}  // namespace lockstep
