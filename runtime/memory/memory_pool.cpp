#include "lockstep/runtime/memory/memory_pool.h"

#include <utility>

namespace lockstep {
namespace {

thread_local CachingAllocator* current = nullptr;

}  // namespace

MemoryPoolScope::MemoryPoolScope(const MemoryPool& pool) : previous_(std::exchange(current, pool.allocator_.get())) {}

MemoryPoolScope::~MemoryPoolScope() { current = previous_; }

CachingAllocator* MemoryPoolScope::allocator_of(const LogicalDevice& device) {
  return current != nullptr && current->device() == device ? current : nullptr;
}

}  // namespace lockstep
