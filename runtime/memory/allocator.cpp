#include "lockstep/runtime/memory/allocator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/stream.h>
#include <lockstep/runtime/memory/device_memory.h>
#include <lockstep/runtime/memory/memory_pool.h>
#include <lockstep/runtime/memory/poison.h>

namespace lockstep {
namespace {

/// Alignment and unit of block sizes, bytes: suits vector instructions and GPUs, and seldom leaves pieces too small to
/// use.
constexpr std::size_t granularity = 512;
/// The least number of bytes by which `reserved` bytes are extended, so that a later step whose blocks are placed a
/// little differently needs no further extension: an eighth, but at most a huge page.
std::size_t growth(std::size_t reserved) {
  return std::clamp<std::size_t>(reserved / 8 / granularity * granularity, 1 << 16, 1 << 21);
}

/// Memory has settled, i.e. steps reuse it without growing it, once its size has been handed out this many times: after
/// two or three steps of a network.
constexpr std::size_t uses_until_settled = 4;

/// The allocators that have allocated memory of GPUs, including those of pools.
class GpuAllocators {
 public:
  void add(const std::shared_ptr<CachingAllocator>& allocator) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const auto& known) { return known.expired() || known.lock() == allocator; });
    all_.push_back(allocator);
  }
  /// Releases the free memory of the other allocators on the physical GPU of `own`; returns whether there was any.
  /// Precondition: the calling thread has locked no allocator.
  bool release_beside(const CachingAllocator& own) {
    bool any = false;
    for (const std::shared_ptr<CachingAllocator>& other : beside(own)) {
      const std::size_t reserved = other->stats().bytes_reserved;
      other->release_cache();
      if (other->stats().bytes_reserved >= reserved) continue;
      any = true;
      Event freed(other->device());  // CUDA frees memory only after the work that was enqueued before
      freed.record({other->device()});
      freed.synchronize();
    }
    return any;
  }

 private:
  std::vector<std::shared_ptr<CachingAllocator>> beside(const CachingAllocator& own) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<CachingAllocator>> others;
    for (const std::weak_ptr<CachingAllocator>& known : all_)
      if (auto other = known.lock();
          other && other.get() != &own && physical_gpu(other->device()) == physical_gpu(own.device()))
        others.push_back(std::move(other));
    return others;
  }

  std::mutex mutex_;
  std::vector<std::weak_ptr<CachingAllocator>> all_;
};

GpuAllocators& gpu_allocators() {
  static auto& all = *new GpuAllocators;  // never destroyed, like the allocators of devices
  return all;
}

/// The size of a block for `bytes`, including the poisoned margin of host memory.
std::size_t rounded(std::size_t bytes, DeviceKind kind) {
  const std::size_t padded = bytes + (kind == DeviceKind::cpu ? poison::margin : 0);
  return std::max<std::size_t>(1, (padded + granularity - 1) / granularity) * granularity;
}

}  // namespace

CachingAllocator::~CachingAllocator() {
  keeps_all_ = false;
  release_cache();
}

std::shared_ptr<Buffer> CachingAllocator::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes, device_.kind);
  BlockList::Position block;
  const auto take_block = [&] {
    const std::lock_guard lock(mutex_);
    block = take(size, bytes);
    count_handed_out(block->bytes);
  };
  try {
    take_block();
  } catch (const OutOfMemory&) {
    const AllocatorStats now = stats();
    const bool exceeds_limit = now.memory_limit > 0 && now.bytes_in_use + size > now.memory_limit;
    if (device_.kind != DeviceKind::gpu || exceeds_limit || !gpu_allocators().release_beside(*this)) throw;
    take_block();
  }
  if (device_.kind == DeviceKind::cpu) poison::permit(block->data, bytes);
  try {
    if (device_.kind == DeviceKind::gpu && contracts::checked())
      contracts::begin_block(this, device_, block->data, block->bytes);
    return std::make_shared<Buffer>(shared_from_this(), *block);
  } catch (const std::bad_alloc&) {
    take_back(*block);
    throw;
  }
}

void CachingAllocator::count_handed_out(std::size_t bytes) {
  stats_.bytes_in_use += bytes;
  stats_.bytes_peak = std::max(stats_.bytes_peak, stats_.bytes_in_use);
  if (settled_) return;
  handed_out_ += bytes;
  if (handed_out_ / uses_until_settled < stats_.bytes_reserved) return;
  settled_ = true;
  resource_.settle(blocks_.end());
}

BlockList::Position CachingAllocator::take(std::size_t bytes, std::size_t wanted) {
  require<OutOfMemory>(stats_.memory_limit == 0 || stats_.bytes_in_use + bytes <= stats_.memory_limit,
                       "{} has no room for {} bytes: {} bytes of its limit of {} are in use", device_.name(), wanted,
                       stats_.bytes_in_use, stats_.memory_limit);
  if (const auto block = blocks_.take(bytes, excess())) return *block;
  if (stats_.memory_limit > 0 && stats_.bytes_reserved + bytes > stats_.memory_limit) release_free_segments();
  if (!extend_for(bytes)) add_segment(bytes);
  return blocks_.take(bytes, excess()).value();
}

bool CachingAllocator::extend_for(std::size_t bytes) {
  if (!resource_.extends() || blocks_.end() == nullptr) return false;
  const std::size_t more = std::max(growth(stats_.bytes_reserved), bytes - std::min(bytes, blocks_.free_at_end()));
  if (!resource_.extend(blocks_.end(), more)) return false;
  blocks_.extend(more);
  count_reserved(more);
  return true;
}

void CachingAllocator::add_segment(std::size_t bytes) {
  void* memory = nullptr;
  try {
    memory = resource_.allocate(bytes);
  } catch (const OutOfMemory&) {
    release_free_segments();
    try {
      memory = resource_.allocate(bytes);
    } catch (OutOfMemory& error) {
      error.add_context(fmt::format("{} with {} bytes in use", device_.name(), stats_.bytes_in_use));
      throw;
    }
  }
  try {
    blocks_.add_segment(memory, bytes);
  } catch (const std::bad_alloc&) {
    resource_.release(memory, bytes);
    throw;
  }
  count_reserved(bytes);
  if (device_.kind == DeviceKind::gpu) gpu_allocators().add(shared_from_this());
}

void CachingAllocator::count_reserved(std::size_t bytes) {
  if (device_.kind == DeviceKind::cpu) poison::forbid(blocks_.end() - bytes, bytes);
  stats_.bytes_reserved += bytes;
  ++stats_.system_allocations;
  handed_out_ = 0;
  settled_ = false;
}

void CachingAllocator::take_back(MemoryBlock& block) noexcept {
  if (device_.kind == DeviceKind::cpu) poison::forbid(block.data, block.bytes);
  if (device_.kind == DeviceKind::gpu && contracts::checked()) contracts::end_block(this, block.data);
  const std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= block.bytes;
  blocks_.give_back(block.position());
}

void CachingAllocator::release_cache() {
  const std::lock_guard lock(mutex_);
  release_free_segments();
}

void CachingAllocator::keep_all() {
  const std::lock_guard lock(mutex_);
  keeps_all_ = true;
}

void CachingAllocator::release_free_segments() noexcept {
  if (keeps_all_) return;
  while (const auto segment = blocks_.take_free_segment()) {
    if (device_.kind == DeviceKind::cpu) poison::permit(segment->first, segment->second);
    resource_.release(segment->first, segment->second);
    stats_.bytes_reserved -= segment->second;
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

namespace {

/// The allocators of all devices, made on first use. Those with a usual device index are found without a lock, as every
/// tensor looks one up.
class Allocators {
 public:
  CachingAllocator& of(const LogicalDevice& device) {
    const auto index = static_cast<std::size_t>(device.index);
    auto& quick = quick_[device.kind == DeviceKind::gpu ? 1 : 0];
    if (index < quick.size())
      if (CachingAllocator* const found = quick[index].load(std::memory_order_acquire)) return *found;
    const std::lock_guard lock(mutex_);
    auto& found = all_[{device.kind, device.index}];
    if (!found) found = std::make_shared<CachingAllocator>(device, memory_resource(device));
    if (index < quick.size()) quick[index].store(found.get(), std::memory_order_release);
    return *found;
  }

 private:
  std::array<std::array<std::atomic<CachingAllocator*>, 64>, 2> quick_{};  ///< by kind and index
  std::mutex mutex_;                                                       ///< guards all_
  std::map<std::pair<DeviceKind, int>, std::shared_ptr<CachingAllocator>> all_;
};

}  // namespace

CachingAllocator& allocator(const LogicalDevice& device) {
  if (CachingAllocator* const of_pool = MemoryPoolScope::allocator_of(device)) return *of_pool;
  // Never destroyed: at the program's end a GPU's driver may be unloaded before its memory could be freed.
  static auto& allocators = *new Allocators;
  CachingAllocator& found = allocators.of(device);
  if (device.memory_limit > 0) found.set_memory_limit(device.memory_limit);
  return found;
}

}  // namespace lockstep
