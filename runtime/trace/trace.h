#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

// Records the activity of host threads over time. For GPU work it records when the host enqueues it, not when the GPU
// executes it.

namespace lockstep {

/// A recorded TraceSpan.
struct TraceEvent {
  std::string name;    ///< for example a phase ("input"), a layer's name or "gradient of conv2d"
  int replica;         ///< the replica's index in this process; -1 outside a replica
  double start_us;     ///< start, in microseconds since the recording began
  double duration_us;  ///< duration in microseconds
};

/// Records the TraceSpans of all threads that begin and end during its lifetime. After `capacity` spans, further ones
/// are dropped. Only one recording may exist at a time.
class TraceRecording {
 public:
  /// Throws LogicError while another recording exists.
  explicit TraceRecording(std::size_t capacity = std::size_t{1} << 20);
  ~TraceRecording();
  TraceRecording(const TraceRecording&) = delete;
  TraceRecording& operator=(const TraceRecording&) = delete;

  /// The spans that have ended so far. The spans of each thread are in the order in which they ended.
  std::vector<TraceEvent> events() const;
};

/// Records its lifetime as an event of the thread that creates and destroys it. While no recording exists, it only
/// reads a flag.
class TraceSpan {
 public:
  ///@{
  /// The event's name is `before` followed by `name`. The characters of both must outlive the span.
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
