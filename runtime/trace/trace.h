#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

// What threads do, and when: of GPUs, what the host has them do.

namespace lockstep {

/// Something that a thread did.
struct TraceEvent {
  std::string name;    ///< "input", "compute", "reduce", "update", a layer's name, "gradient of conv2d"
  int replica;         ///< of this process; -1 outside a replica
  double start_us;     ///< since the recording began
  double duration_us;  ///< up to its end
};

/// Records all TraceSpans of all threads while it lives, up to the first `capacity` that end. One at a time.
class TraceRecording {
 public:
  /// Throws LogicError while another one records.
  explicit TraceRecording(std::size_t capacity = std::size_t{1} << 20);
  ~TraceRecording();
  TraceRecording(const TraceRecording&) = delete;
  TraceRecording& operator=(const TraceRecording&) = delete;

  /// What has ended so far, each thread's events in the order in which they ended.
  std::vector<TraceEvent> events() const;
};

/// Counts its lifetime as an event of the calling thread. Costs the reading of a flag while nothing is recorded.
class TraceSpan {
 public:
  ///@{
  /// `before` and `name`, which must outlive the span, make the event's name.
  explicit TraceSpan(std::string_view name) : TraceSpan({}, name) {}
  TraceSpan(std::string_view before, std::string_view name);
  ///@}
  ~TraceSpan();
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  std::string_view before_, name_;
  bool recorded_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace lockstep
