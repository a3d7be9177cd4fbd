#include "trace_file.h"

#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/atomic_file.h>

namespace lockstep::cli {
namespace {

nlohmann::ordered_json name_of_row(int replica) {
  const std::string name = replica < 0 ? "outside of replicas" : fmt::format("replica {}", replica);
  return {{"name", "thread_name"}, {"ph", "M"}, {"pid", 0}, {"tid", replica + 1}, {"args", {{"name", name}}}};
}

}  // namespace

void write_trace(const TraceRecording& recording, const std::string& path) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  std::set<int> replicas;
  for (const TraceEvent& event : recording.events()) {
    if (replicas.insert(event.replica).second) events.push_back(name_of_row(event.replica));
    events.push_back({{"name", event.name},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", event.replica + 1},
                      {"ts", event.start_us},
                      {"dur", event.duration_us}});
  }
  const nlohmann::ordered_json trace{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  const std::string text = trace.dump() + "\n";
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace lockstep::cli
