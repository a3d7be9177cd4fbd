// Records the kernels, copies and memsets of any program that uses CUDA, and writes them when it ends:
//   CUDA_INJECTION64_PATH=.../liblockstep_timeline.so LOCKSTEP_TIMELINE=out.json PROGRAM
// The file is for chrome://tracing and Perfetto. A line on stderr states the number of kernels, for how long at
// least one of them ran, and for how long none did in between. See tools/gpu_kit/timeline/README.md.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/parse_number.h>
#include <lockstep/runtime/trace/chrome_trace.h>
#include <lockstep/runtime/trace/gpu_recording.h>

namespace lockstep {
namespace {

GpuRecording* recording = nullptr;  // lives until the program ends

void say(const std::string& line) { fmt::print(stderr, "lockstep timeline: {}\n", line); }

/// Replaces %p by the process id, since a program may start others.
std::string path() {
  std::string text = std::getenv("LOCKSTEP_TIMELINE");
  if (const std::size_t at = text.find("%p"); at != std::string::npos) text.replace(at, 2, std::to_string(getpid()));
  return text;
}

std::size_t limit() {
  constexpr std::size_t usual = 1'000'000;
  const char* const text = std::getenv("LOCKSTEP_TIMELINE_LIMIT");
  if (text == nullptr) return usual;
  const std::size_t value = parse_number<std::size_t>(text).value_or(0);
  require(value > 0, "LOCKSTEP_TIMELINE_LIMIT must be a whole number of at least 1, got '{}'", text);
  return value;
}

void write() {
  try {
    const GpuTimeline timeline = recording->finish();
    say(timeline.summary());
    if (timeline.left_out() > 0)
      say(fmt::format(
          "the first {} kernels, copies and memsets are recorded, {} are left out; LOCKSTEP_TIMELINE_LIMIT=N "
          "sets how many are kept",
          timeline.size(), timeline.left_out()));
    if (timeline.size() == 0) return;  // a process that only starts others must not overwrite their file
    ChromeTrace trace;
    timeline.add_to(trace, timeline.first_ns());
    const std::string text = trace.text();
    write_file_atomically(path(), std::as_bytes(std::span(text)));
  } catch (const std::exception& error) {
    say(error.what());
  }
}

void begin() {
  if (recording != nullptr) return;
  try {
    require(std::getenv("LOCKSTEP_TIMELINE") != nullptr,
            "nothing is recorded: set LOCKSTEP_TIMELINE to the file to write");
    recording = new GpuRecording(limit());
    std::atexit(write);
  } catch (const std::exception& error) {
    say(error.what());
  }
}

}  // namespace
}  // namespace lockstep

/// Called by CUDA when the program first uses it. The program continues even if recording fails.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  lockstep::begin();
  return 1;
}
