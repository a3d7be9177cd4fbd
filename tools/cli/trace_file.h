#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <lockstep/runtime/trace/gpu_recording.h>
#include <lockstep/runtime/trace/trace.h>

namespace lockstep::cli {

/// Trace of a run on one clock: the work of the replicas' threads and, if CUPTI is available, of the GPUs. Records from
/// construction on.
class RunTrace {
 public:
  /// Logs a warning with the reason if GPUs are used but cannot be recorded.
  explicit RunTrace(bool uses_gpus);
  /// Stops recording GPUs and writes a file for chrome://tracing and Perfetto, with a row for each replica and each GPU
  /// stream. If the run was `resumed`, appends to the trace in the file: the new events belong to new processes, whose
  /// time starts at 0 again. Throws InputError naming path and reason.
  void write(const std::string& path, bool resumed);

 private:
  TraceRecording host_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();  ///< zero of the times in host_
  std::optional<GpuRecording> gpus_;
};

}  // namespace lockstep::cli
