#include "trace_file.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/trace/chrome_trace.h>

namespace lockstep::cli {
namespace {

/// Adds the events of the trace in a file; no events if it is not a trace. Returns a process id above those that the
/// trace uses; ids above 2^30, which are not lockstep's, do not count.
int add_events_in(const std::string& path, ChromeTrace& trace) {
  std::ifstream file(path);
  const nlohmann::ordered_json old = nlohmann::ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!old.is_object() || !old.contains("traceEvents") || !old["traceEvents"].is_array()) return 0;
  std::int64_t process = 0;
  for (const auto& event : old["traceEvents"]) {
    if (!event.is_object()) continue;
    if (const auto pid = event.find("pid"); pid != event.end() && pid->is_number_integer() && *pid <= 1 << 30)
      process = std::max(process, pid->get<std::int64_t>() + 1);
    trace.add(event.dump());
  }
  return static_cast<int>(process);
}

void add_host(const TraceRecording& recording, int host, ChromeTrace& trace) {
  std::set<int> replicas;
  for (const TraceEvent& event : recording.events()) {
    const int row = event.replica + 1;
    if (replicas.insert(event.replica).second)
      trace.name_row(host, row, event.replica < 0 ? "outside of replicas" : fmt::format("replica {}", event.replica));
    trace.add(event.name, host, row, event.start_us, event.duration_us);
  }
}

}  // namespace

RunTrace::RunTrace(bool uses_gpus) {
  if (!uses_gpus) return;
  try {
    gpus_.emplace();
  } catch (const Unsupported& error) {
    log_warning("the trace contains only host activity, no GPU kernels: {}", error.what());
  }
}

void RunTrace::write(const std::string& path, bool resumed) {
  ChromeTrace trace;
  const int host = resumed ? add_events_in(path, trace) : 0;
  add_host(host_, host, trace);
  if (gpus_) {
    const GpuTimeline timeline = gpus_->finish();
    const std::chrono::nanoseconds start = start_.time_since_epoch();
    timeline.add_to(trace, static_cast<std::uint64_t>(start.count()), host + 1);
    if (timeline.left_out() > 0)
      log_warning("the trace has the first {} kernels and copies of GPUs; {} were dropped", timeline.size(),
                  timeline.left_out());
  }
  const std::string text = trace.text();
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace lockstep::cli
