#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <lockstep/runtime/trace/chrome_trace.h>

namespace lockstep {

/// Something that a GPU did.
struct GpuWork {
  /// Of kernels that of the object file, which may be mangled.
  std::string_view name{};
  bool is_kernel = false;    ///< else a copy, or a memset
  std::uint32_t gpu = 0;     ///< CUDA's number
  std::uint32_t stream = 0;  ///< the profiler's number
  ///@{
  /// On the clock of std::chrono::steady_clock.
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  ///@}
  std::uint64_t bytes = 0;  ///< copied or set
};

/// The first `capacity` things that GPUs did, 48 bytes each, and how many more there were.
class GpuTimeline {
 public:
  /// Empty.
  explicit GpuTimeline(std::size_t capacity) : capacity_(capacity) {}
  /// Adds it, or counts it as left out.
  void add(const GpuWork& work);
  /// Number of those that were not recorded.
  void leave_out(std::uint64_t count) { left_out_ += count; }
  /// How many it has.
  std::size_t size() const { return entries_.size(); }
  /// How many were left out.
  std::uint64_t left_out() const { return left_out_; }
  /// When the first began; 0 when there is none.
  std::uint64_t first_ns() const;
  /// By GPU, in one line: the number of kernels, the time in which at least one of them ran, the time between them, and
  /// the time from the start of the first to the end of the last.
  std::string summary() const;
  /// Adds a process for each GPU, that of GPU 0 being `first_process`, with a row for each stream; times count from
  /// `origin_ns`.
  void add_to(ChromeTrace& trace, std::uint64_t origin_ns, int first_process = 0) const;

 private:
  struct Entry {
    std::uint64_t start_ns, end_ns, bytes;
    std::uint32_t name, gpu, stream;
    bool is_kernel;
  };
  std::uint32_t number_of(std::string_view name);

  std::size_t capacity_;
  std::uint64_t left_out_ = 0;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  ///< by name, in the order of their first use
};

}  // namespace lockstep
