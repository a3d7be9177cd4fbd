#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <lockstep/runtime/trace/chrome_trace.h>

namespace lockstep {

/// A kernel, copy or memset that a GPU executed.
struct GpuWork {
  /// The symbol name of a kernel, which may be mangled, or a description of a copy or memset.
  std::string_view name{};
  bool is_kernel = false;    ///< false: a copy or a memset
  std::uint32_t gpu = 0;     ///< CUDA's ordinal of the GPU
  std::uint32_t stream = 0;  ///< the profiler's number of the stream
  ///@{
  /// Start and end, as nanoseconds of std::chrono::steady_clock.
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  ///@}
  std::uint64_t bytes = 0;  ///< bytes copied or set; 0 for a kernel
};

/// Stores up to `capacity` entries of 40 bytes, one for each piece of GPU work, and counts the work that it leaves out.
class GpuTimeline {
 public:
  /// An empty timeline.
  explicit GpuTimeline(std::size_t capacity) : capacity_(capacity) {}
  /// Adds `work`, or counts it as left out if the timeline is full.
  void add(const GpuWork& work);
  /// Counts `count` more pieces of work as left out.
  void leave_out(std::uint64_t count) { left_out_ += count; }
  /// Number of entries.
  std::size_t size() const { return entries_.size(); }
  /// Number of pieces of work left out.
  std::uint64_t left_out() const { return left_out_; }
  /// The earliest start; 0 if the timeline is empty.
  std::uint64_t first_ns() const;
  /// One line. For each GPU that ran kernels, it has the number of kernels and three times in ms: "busy", during which
  /// at least one kernel ran; "gaps", during which no kernel ran; and "span", the sum of both, from the first kernel's
  /// start to the last kernel's end.
  std::string summary() const;
  /// Adds a process for each GPU to `trace`, with a row for each stream. GPU i is process `first_process` + i. Times
  /// count from `origin_ns`.
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
  std::unordered_map<std::string, std::uint32_t> numbers_;  ///< Entry::name by name, numbered in order of first use
};

}  // namespace lockstep
