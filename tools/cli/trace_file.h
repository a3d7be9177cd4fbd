#pragma once

#include <string>

#include <lockstep/runtime/trace/trace.h>

namespace lockstep::cli {

/// Writes a trace for chrome://tracing and Perfetto: JSON in the Trace Event Format, a row for each replica. Where the
/// run `resumed`, it is added to the file's trace as another process, whose time begins at 0 again. Throws InputError
/// naming path and reason.
void write_trace(const TraceRecording& recording, const std::string& path, bool resumed);

}  // namespace lockstep::cli
