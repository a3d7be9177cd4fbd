#include <cstdint>

#include <support/pretend_gpu/device_memory.h>
#include <sys/mman.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep::test {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{1} << 21;
constexpr std::size_t capacity = std::size_t{8} << 30;  // of addresses; pages are made on first use
constexpr std::size_t mapped = capacity + huge_page;

std::size_t rounded_up(std::size_t bytes, std::size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

DeviceMemory::DeviceMemory()
    : mapping_(mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  require<OutOfMemory>(mapping_ != MAP_FAILED, "{} bytes of addresses are not to be had", mapped);
  begin_ = reinterpret_cast<std::byte*>(rounded_up(reinterpret_cast<std::uintptr_t>(mapping_), huge_page));
  end_ = begin_;
}

DeviceMemory::~DeviceMemory() { munmap(mapping_, mapped); }

void* DeviceMemory::allocate(std::size_t bytes) {
  refuse_capture("an allocation of new memory");
  const std::lock_guard lock(mutex_);
  const std::size_t size = rounded_up(bytes, page);
  if (std::vector<void*>& kept = free_[size]; !kept.empty()) {
    void* const memory = kept.back();
    kept.pop_back();
    return memory;
  }
  require<OutOfMemory>(end_ + size <= begin_ + capacity, "the pretended GPU has no {} bytes left", bytes);
  void* const memory = end_;
  end_ += size;
  // Every kernel opens and closes the memory, which takes time for each page. Advice for this part alone also keeps the
  // operating system from merging it with the rest at each closing, to split them again at the next opening.
  madvise(begin_, rounded_up(static_cast<std::size_t>(end_ - begin_), huge_page), MADV_HUGEPAGE);
  if (open_ > 0) protect(PROT_READ | PROT_WRITE);
  return memory;
}

void DeviceMemory::release(void* memory, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  free_[rounded_up(bytes, page)].push_back(memory);
}

bool DeviceMemory::contains(const void* address) const { return address >= begin_ && address < begin_ + capacity; }

void DeviceMemory::protect(int protection) const {
  // Whole huge pages, which the operating system would split otherwise.
  if (end_ > begin_) mprotect(begin_, rounded_up(static_cast<std::size_t>(end_ - begin_), huge_page), protection);
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

void check_memory(const char* kernel, const DeviceMemory& memory, std::span<const kernels::Operand> operands) {
  for (const kernels::Operand& operand : operands) {
    const contracts::MemoryRange range = kernels::memory_of(operand);
    require<BrokenInvariant>(range.bytes == 0 || memory.contains(range.begin), "{} on {} is given {} bytes of the host",
                             kernel, current_context().device.name(), range.bytes);
  }
}

}  // namespace lockstep::test
