#include "lockstep/runtime/trace/chrome_trace.h"

#include <fmt/format.h>

#include <lockstep/runtime/core/lossy_json.h>

namespace lockstep {

void ChromeTrace::add_name(std::string_view what, int process, std::int64_t row, std::string_view name) {
  add(fmt::format("{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", what, process, row,
                  lossy_json(name)));
}

void ChromeTrace::name_process(int process, std::string_view name) { add_name("process_name", process, 0, name); }

void ChromeTrace::name_row(int process, std::int64_t row, std::string_view name) {
  add_name("thread_name", process, row, name);
}

void ChromeTrace::add(std::string_view name, int process, std::int64_t row, double start_us, double duration_us,
                      std::optional<std::uint64_t> bytes) {
  const std::string args = bytes ? fmt::format(",\"args\":{{\"bytes\":{}}}", *bytes) : "";
  add(fmt::format("{{\"name\":{},\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}{}}}", lossy_json(name),
                  process, row, start_us, duration_us, args));
}

void ChromeTrace::add(std::string_view event) {
  if (!events_.empty()) events_ += ",\n";
  events_ += event;
}

std::string ChromeTrace::text() const {
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n", events_);
}

}  // namespace lockstep
