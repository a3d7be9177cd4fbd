#include <support/pretend_gpu/device_memory.h>
#include <sys/mman.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep::test {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t capacity = std::size_t{8} << 30;  // of addresses; pages come with their first use

}  // namespace

DeviceMemory::DeviceMemory() {
  void* const memory = mmap(nullptr, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require<OutOfMemory>(memory != MAP_FAILED, "{} bytes of addresses are not to be had", capacity);
  begin_ = static_cast<std::byte*>(memory);
  end_ = begin_;
}

DeviceMemory::~DeviceMemory() { munmap(begin_, capacity); }

void* DeviceMemory::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t size = (bytes + page - 1) / page * page;
  if (std::vector<void*>& kept = free_[size]; !kept.empty()) {
    void* const memory = kept.back();
    kept.pop_back();
    return memory;
  }
  require<OutOfMemory>(end_ + size <= begin_ + capacity, "the pretended GPU has no {} bytes left", bytes);
  void* const memory = end_;
  end_ += size;
  if (open_ > 0) mprotect(memory, size, PROT_READ | PROT_WRITE);
  return memory;
}

void DeviceMemory::release(void* memory, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  free_[(bytes + page - 1) / page * page].push_back(memory);
}

bool DeviceMemory::contains(const void* address) const { return address >= begin_ && address < begin_ + capacity; }

void DeviceMemory::protect(int protection) const {
  if (end_ > begin_) mprotect(begin_, static_cast<std::size_t>(end_ - begin_), protection);
}

void DeviceMemory::open() {
  const std::lock_guard lock(mutex_);
  if (open_++ == 0) protect(PROT_READ | PROT_WRITE);
}

void DeviceMemory::close() {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0) protect(PROT_NONE);
}

DeviceMemory::Access::Access(DeviceMemory& memory) : memory_(memory), turn_(memory.turns_) { memory_.open(); }

DeviceMemory::Access::~Access() { memory_.close(); }

}  // namespace lockstep::test
