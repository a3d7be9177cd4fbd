#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace lockstep::test {

/// Resources of this process that a leak would increase.
struct ProcessState {
  std::int64_t resident_bytes = 0;
  std::ptrdiff_t threads = 0;
  std::ptrdiff_t open_files = 0;
};

/// Whether growth of the resident memory means a leak. False with sanitizers, which keep freed memory and find leaks
/// themselves.
#ifdef LOCKSTEP_SANITIZED
inline constexpr bool memory_is_meaningful = false;
#else
inline constexpr bool memory_is_meaningful = true;
#endif

inline ProcessState process_state() {
  const auto entries_of = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  statm >> pages >> pages;
  return {.resident_bytes = pages * sysconf(_SC_PAGESIZE),
          .threads = entries_of("/proc/self/task"),
          .open_files = entries_of("/proc/self/fd")};
}

}  // namespace lockstep::test
