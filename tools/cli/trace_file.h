#pragma once

#include <string>

#include <lockstep/runtime/trace/trace.h>

namespace lockstep::cli {

/// Writes a trace for chrome://tracing and Perfetto: JSON in the Trace Event Format, a row for each replica. Throws
/// InputError naming path and reason.
void write_trace(const TraceRecording& recording, const std::string& path);

}  // namespace lockstep::cli
