#include "trace_file.h"

#include <algorithm>
#include <fstream>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/atomic_file.h>

namespace lockstep::cli {
namespace {

nlohmann::ordered_json name_of_row(int process, int replica) {
  const std::string name = replica < 0 ? "outside of replicas" : fmt::format("replica {}", replica);
  return {{"name", "thread_name"}, {"ph", "M"}, {"pid", process}, {"tid", replica + 1}, {"args", {{"name", name}}}};
}

/// The events of a trace in a file; none where it holds no trace.
nlohmann::ordered_json events_in(const std::string& path) {
  std::ifstream file(path);
  nlohmann::ordered_json trace = nlohmann::ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
  const bool is_trace = trace.is_object() && trace.contains("traceEvents") && trace["traceEvents"].is_array();
  return is_trace ? std::move(trace["traceEvents"]) : nlohmann::ordered_json::array();
}

}  // namespace

void write_trace(const TraceRecording& recording, const std::string& path, bool resumed) {
  nlohmann::ordered_json events = resumed ? events_in(path) : nlohmann::ordered_json::array();
  int process = 0;
  for (const auto& event : events) process = std::max(process, event.value("pid", 0) + 1);
  std::set<int> replicas;
  for (const TraceEvent& event : recording.events()) {
    if (replicas.insert(event.replica).second) events.push_back(name_of_row(process, event.replica));
    events.push_back({{"name", event.name},
                      {"ph", "X"},
                      {"pid", process},
                      {"tid", event.replica + 1},
                      {"ts", event.start_us},
                      {"dur", event.duration_us}});
  }
  const nlohmann::ordered_json trace{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  const std::string text = trace.dump() + "\n";
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace lockstep::cli
