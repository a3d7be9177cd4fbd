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

constexpr std::size_t mebibyte = 1 << 20;

void fill(void* memory, std::size_t bytes) { std::fill_n(static_cast<char*>(memory), bytes, 'x'); }

TEST(HostMemory, GoesOnWhereItEnded) {
  HostMemory memory(64 * mebibyte);
  auto* const begin = static_cast<std::byte*>(memory.allocate(1000));
  fill(begin, 1000);
  EXPECT_TRUE(memory.extend(begin + 1000, 5 * mebibyte));
  fill(begin + 1000, 5 * mebibyte);
  EXPECT_FALSE(memory.extend(begin + 1000, 1000)) << "it does not end there";
  EXPECT_FALSE(memory.extend(begin + 1000 + 5 * mebibyte, 64 * mebibyte)) << "more than was reserved";
  EXPECT_FALSE(memory.extend(nullptr, 1000));
  memory.release(begin, 1000 + 5 * mebibyte);
}

TEST(HostMemory, GivesMoreThanItReservesAtOnce) {
  HostMemory memory(mebibyte);
  void* const large = memory.allocate(100 * mebibyte);
  fill(large, 100 * mebibyte);
  memory.release(large, 100 * mebibyte);
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
  HostMemory memory(64 * mebibyte);
  auto* const begin = static_cast<char*>(memory.allocate(10 * mebibyte));
  const auto expect_huge = [&](std::size_t bytes) {  // in other modes the kernel decides
    if (modes.find("[madvise]") == std::string::npos) return;
    EXPECT_EQ(bytes_in_huge_pages(begin), bytes);
  };
  fill(begin, 10 * mebibyte);
  expect_huge(0);
  memory.settle(begin + mebibyte);  // not at the end of the block
  expect_huge(0);
  memory.settle(begin + 10 * mebibyte);
  expect_huge(10 * mebibyte);
  EXPECT_EQ(std::count(begin, begin + 10 * mebibyte, 'x'), 10 * mebibyte);
  EXPECT_TRUE(memory.extend(begin + 10 * mebibyte, mebibyte));
  fill(begin + 10 * mebibyte, mebibyte);
  memory.release(begin, 11 * mebibyte);
}

TEST(HostMemory, AnAllocatorGoesOnInAnotherRangeWhereOneEnds) {
  HostMemory memory(4 * mebibyte);
  const auto allocator = std::make_shared<CachingAllocator>(LogicalDevice{}, memory);
  std::vector<std::shared_ptr<Buffer>> live;
  for (int i = 0; i < 20; ++i) {
    live.push_back(allocator->allocate(mebibyte));
    fill(live.back()->data(), mebibyte);
  }
  EXPECT_GE(allocator->stats().bytes_reserved, 20 * mebibyte);
  EXPECT_LE(allocator->stats().bytes_reserved, 30 * mebibyte);
  live.clear();
  allocator->release_cache();
  EXPECT_EQ(allocator->stats().bytes_reserved, 0U);
}

}  // namespace
}  // namespace lockstep
