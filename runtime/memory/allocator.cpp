#include "lockstep/runtime/memory/allocator.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// Sizes are rounded up to 8 classes per power of two: a block wastes at most 1/8, and nearby sizes share blocks.
std::size_t size_class(std::size_t bytes) {
  constexpr std::size_t smallest = 512;
  if (bytes <= smallest) return smallest;
  const std::size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

}  // namespace

Buffer::Buffer(std::shared_ptr<CachingAllocator> owner, void* data, std::size_t bytes)
    : owner_(std::move(owner)), data_(data), bytes_(bytes) {}

Buffer::~Buffer() { owner_->take_back(data_, bytes_); }

const LogicalDevice& Buffer::device() const { return owner_->device(); }

CachingAllocator::~CachingAllocator() { release_cache(); }

std::shared_ptr<Buffer> CachingAllocator::allocate(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  void* data = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto kept = free_.find(size); kept != free_.end() && !kept->second.empty()) {
      data = kept->second.back();
      kept->second.pop_back();
    }
  }
  if (data == nullptr) data = system_allocate(size, bytes);
  {
    const std::lock_guard lock(mutex_);
    stats_.bytes_in_use += size;
    stats_.bytes_peak = std::max(stats_.bytes_peak, stats_.bytes_in_use);
  }
  try {
    return std::make_shared<Buffer>(shared_from_this(), data, size);
  } catch (const std::bad_alloc&) {
    take_back(data, size);
    throw;
  }
}

bool CachingAllocator::reserve(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (stats_.memory_limit > 0 && stats_.bytes_reserved + bytes > stats_.memory_limit) return false;
  stats_.bytes_reserved += bytes;
  return true;
}

void* CachingAllocator::ask_system(std::size_t bytes) {
  try {
    return resource_.allocate(bytes);
  } catch (const OutOfMemory&) {
    release_cache();
    return resource_.allocate(bytes);
  }
}

void* CachingAllocator::system_allocate(std::size_t bytes, std::size_t wanted) {
  {
    // So that a block's return, in a destructor, cannot fail; before there is a block to be lost.
    const std::lock_guard lock(mutex_);
    auto& kept = free_[bytes];
    kept.reserve(kept.capacity() + 1);
  }
  if (!reserve(bytes)) {
    release_cache();
    const AllocatorStats now = stats();
    require<OutOfMemory>(reserve(bytes), "{} has no room for {} bytes: {} bytes of its limit of {} are in use",
                         device_.name(), wanted, now.bytes_in_use, now.memory_limit);
  }
  void* data = nullptr;
  try {
    data = ask_system(bytes);
  } catch (OutOfMemory& error) {
    const std::lock_guard lock(mutex_);
    stats_.bytes_reserved -= bytes;
    error.add_context(fmt::format("{} with {} bytes in use", device_.name(), stats_.bytes_in_use));
    throw;
  }
  const std::lock_guard lock(mutex_);
  ++stats_.system_allocations;
  return data;
}

void CachingAllocator::take_back(void* data, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= bytes;
  free_.find(bytes)->second.push_back(data);
}

void CachingAllocator::release_cache() {
  const std::lock_guard lock(mutex_);
  for (auto& [size, kept] : free_) {
    for (void* data : kept) resource_.release(data, size);
    stats_.bytes_reserved -= size * kept.size();
    kept.clear();
  }
}

AllocatorStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.bytes_peak = stats_.bytes_in_use;
}

void CachingAllocator::set_memory_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  stats_.memory_limit = bytes;
}

CachingAllocator& allocator(const LogicalDevice& device) {
  // Never destroyed: at the program's end a GPU's driver may be gone before the memory.
  static auto& mutex = *new std::mutex;
  static auto& allocators = *new std::map<std::pair<DeviceKind, int>, std::shared_ptr<CachingAllocator>>;
  const std::lock_guard lock(mutex);
  auto& found = allocators[{device.kind, device.index}];
  if (!found) found = std::make_shared<CachingAllocator>(device, memory_resource(device));
  if (device.memory_limit > 0) found->set_memory_limit(device.memory_limit);
  return *found;
}

}  // namespace lockstep
