#include "lockstep/runtime/memory/host_memory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>

#include <fcntl.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

constexpr std::size_t huge_page = std::size_t{1} << 21;
constexpr std::size_t most_addresses = std::size_t{1} << 36;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Reserves `size` bytes of addresses, aligned to huge pages; returns null if not that many are left.
std::byte* reserve(std::size_t size) {
  void* const memory = mmap(nullptr, size + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(memory);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(first) % huge_page) % huge_page;
  if (before > 0) munmap(first, before);
  munmap(first + before + size, huge_page - before);
  return first + before;
}

struct Unmap {
  std::size_t size;
  void operator()(std::byte* begin) const { munmap(begin, size); }
};

/// Makes every huge page that contains part of the range usable as a whole: otherwise the kernel would use small pages
/// there.
bool make_usable(void* begin, std::size_t bytes) {
  const std::size_t within = reinterpret_cast<std::uintptr_t>(begin) % huge_page;
  const std::size_t size = rounded_up(within + bytes, huge_page);
  return mprotect(static_cast<std::byte*>(begin) - within, size, PROT_READ | PROT_WRITE) == 0;
}

bool kernel_gives_huge_pages() {
  const int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 64> modes{};
  const ssize_t length = read(file, modes.data(), modes.size());
  close(file);
  return length > 0 && std::string_view(modes.data(), length).find("[never]") == std::string_view::npos;
}

/// Keeps the contents. If the kernel refuses, only speed is lost: kernels before 6.1 form huge pages in the background.
void make_huge(std::byte* begin, const std::byte* end) {
  static const bool given = kernel_gives_huge_pages();  // MADV_COLLAPSE ignores this setting
  if (!given) return;
  const std::size_t size = rounded_up(end - begin, huge_page);
  madvise(begin, size, MADV_HUGEPAGE);
  madvise(begin, size, MADV_COLLAPSE);
}

}  // namespace

std::size_t HostMemory::default_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most_addresses;
  return std::min<std::size_t>(most_addresses, limit.rlim_cur / 16);
}

HostMemory::~HostMemory() {
  for (const auto& [begin, range] : ranges_) munmap(begin, range.size);
}

void* HostMemory::allocate(std::size_t bytes) {
  std::size_t size = rounded_up(std::max(bytes, addresses_), huge_page);
  std::byte* begin = reserve(size);
  while (begin == nullptr && size / 2 >= bytes) {
    size = rounded_up(size / 2, huge_page);
    begin = reserve(size);
  }
  std::unique_ptr<std::byte, Unmap> owner(begin, Unmap{size});
  require<OutOfMemory>(begin != nullptr && make_usable(begin, bytes), "the host has no {} bytes of memory left", bytes);
  const std::lock_guard lock(mutex_);
  ranges_.emplace(begin, Range{bytes, size});
  return owner.release();
}

void HostMemory::release(void* memory, std::size_t) noexcept {
  const std::lock_guard lock(mutex_);
  const auto range = ranges_.find(static_cast<std::byte*>(memory));
  munmap(memory, range->second.size);
  ranges_.erase(range);
}

bool HostMemory::extend(void* end, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = range_to(end);
  if (found == ranges_.end()) return false;
  Range& range = found->second;
  if (bytes > range.size - range.usable || !make_usable(end, bytes)) return false;
  range.usable += bytes;
  return true;
}

void HostMemory::settle(void* end) noexcept {
  std::byte* begin = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = range_to(end);
    if (found != ranges_.end()) begin = found->first;
  }
  if (begin != nullptr) make_huge(begin, static_cast<std::byte*>(end));
}

HostMemory::Ranges::iterator HostMemory::range_to(void* end) {
  const auto behind = ranges_.lower_bound(static_cast<std::byte*>(end));
  if (behind == ranges_.begin()) return ranges_.end();
  const auto found = std::prev(behind);
  return found->first + found->second.usable == end ? found : ranges_.end();
}

}  // namespace lockstep
