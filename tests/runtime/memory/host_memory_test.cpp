#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/memory/host_memory.h>

namespace lockstep {
namespace {

constexpr std::size_t megabyte = 1 << 20;

void fill(void* memory, std::size_t bytes) { std::fill_n(static_cast<char*>(memory), bytes, 'x'); }

TEST(HostMemory, GoesOnWhereItEnded) {
  HostMemory memory(64 * megabyte);
  auto* const begin = static_cast<std::byte*>(memory.allocate(1000));
  fill(begin, 1000);
  EXPECT_TRUE(memory.extend(begin + 1000, 5 * megabyte));
  fill(begin + 1000, 5 * megabyte);
  EXPECT_FALSE(memory.extend(begin + 1000, 1000)) << "it does not end there";
  EXPECT_FALSE(memory.extend(begin + 1000 + 5 * megabyte, 64 * megabyte)) << "more than was reserved";
  EXPECT_FALSE(memory.extend(nullptr, 1000));
  memory.release(begin, 1000 + 5 * megabyte);
}

TEST(HostMemory, GivesMoreThanItReservesAtOnce) {
  HostMemory memory(megabyte);
  void* const large = memory.allocate(100 * megabyte);
  fill(large, 100 * megabyte);
  memory.release(large, 100 * megabyte);
}

TEST(HostMemory, SaysWhatItLacks) {
  HostMemory memory;
  try {
    (void)memory.allocate(std::size_t{1} << 60);
    FAIL() << "no error";
  } catch (const OutOfMemory& error) {
    EXPECT_STREQ(error.what(), "the host has no 1152921504606846976 bytes of memory left");
  }
}

/// Huge-page bytes of the mapping that begins at `begin`, as reported by the kernel.
std::size_t bytes_in_huge_pages(const void* begin) {
  std::ifstream mappings("/proc/self/smaps");
  const std::string first = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(begin));
  bool found = false;
  for (std::string line; std::getline(mappings, line);) {
    if (line.starts_with(first)) found = true;
    if (found && line.starts_with("AnonHugePages:")) return std::stoull(line.substr(line.find(':') + 1)) * 1024;
  }
  return 0;
}

TEST(HostMemory, IsOfHugePagesOnceItSettles) {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  HostMemory memory(64 * megabyte);
  auto* const begin = static_cast<char*>(memory.allocate(10 * megabyte));
  const auto expect_huge = [&](std::size_t bytes) {  // in other modes the kernel decides
    if (modes.find("[madvise]") == std::string::npos) return;
    EXPECT_EQ(bytes_in_huge_pages(begin), bytes);
  };
  fill(begin, 10 * megabyte);
  expect_huge(0);
  memory.settle(begin + megabyte);  // not at the end of the block
  expect_huge(0);
  memory.settle(begin + 10 * megabyte);
  expect_huge(10 * megabyte);
  EXPECT_EQ(std::count(begin, begin + 10 * megabyte, 'x'), 10 * megabyte);
  EXPECT_TRUE(memory.extend(begin + 10 * megabyte, megabyte));
  fill(begin + 10 * megabyte, megabyte);
  memory.release(begin, 11 * megabyte);
}

TEST(HostMemory, AnAllocatorGoesOnInAnotherRangeWhereOneEnds) {
  HostMemory memory(4 * megabyte);
  const auto allocator = std::make_shared<CachingAllocator>(LogicalDevice{}, memory);
  std::vector<std::shared_ptr<Buffer>> live;
  for (int i = 0; i < 20; ++i) {
    live.push_back(allocator->allocate(megabyte));
    fill(live.back()->data(), megabyte);
  }
  EXPECT_GE(allocator->stats().bytes_reserved, 20 * megabyte);
  EXPECT_LE(allocator->stats().bytes_reserved, 30 * megabyte);
  live.clear();
  allocator->release_cache();
  EXPECT_EQ(allocator->stats().bytes_reserved, 0U);
}

}  // namespace
}  // namespace lockstep
