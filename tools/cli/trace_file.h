#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <lockstep/runtime/trace/gpu_recording.h>
#include <lockstep/runtime/trace/trace.h>

namespace lockstep::cli {

/// A run's trace: what its replicas' threads do and, where CUPTI is there, what its GPUs do, on one clock. Records
/// while it lives.
class RunTrace {
 public:
  /// With a warning that says why where GPUs are used and cannot be recorded.
  explicit RunTrace(bool uses_gpus);
  /// Ends the recording of GPUs, and writes a file for chrome://tracing and Perfetto: a row for each replica, and one
  /// for each stream of a GPU. Where the run `resumed`, it is added to the file's trace as other processes, whose time
  /// begins at 0 again. Throws InputError naming path and reason.
  void write(const std::string& path, bool resumed);

 private:
  TraceRecording host_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();  ///< host_'s times count from here
  std::optional<GpuRecording> gpus_;
};

}  // namespace lockstep::cli
