#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

class Event;

/// The kinds of streams. Each logical GPU has one stream of each kind, which exists until the program ends.
enum class StreamKind {
  compute,        ///< kernels and all work without a stream of its own
  communication,  ///< collectives that run concurrently with computation
  input,          ///< copies of batches from the host
};
/// All kinds, in the order of their values.
inline constexpr std::array stream_kinds{StreamKind::compute, StreamKind::communication, StreamKind::input};

/// A stream of a logical GPU. Its work runs in the order in which it was enqueued. Work of different streams runs
/// concurrently if no Event orders it. A plain value.
struct Stream {
  LogicalDevice gpu{};                    ///< the GPU that owns the stream
  StreamKind kind = StreamKind::compute;  ///< kind of the stream

  /// Makes all work that is enqueued from now on run after the work that `event` recorded last. Does not block the
  /// host. Throws DeviceError, NotCapturable.
  void wait(const Event& event) const;
  /// Whether both name the same stream.
  friend bool operator==(const Stream& a, const Stream& b) { return a.gpu == b.gpu && a.kind == b.kind; }
};

/// The platform's implementation of Event.
class GpuEvent {
 public:
  virtual ~GpuEvent() = default;
  ///@{
  /// Implement Event::record, Stream::wait and Event::synchronize.
  virtual void record(const Stream& stream) = 0;
  virtual void make_wait(const Stream& stream) const = 0;
  virtual void synchronize() const = 0;
  ///@}
};

/// A point in a stream's work, for which other streams and the host can wait. Only one thread at a time may record it,
/// and no other thread may wait for it meanwhile.
class Event {
 public:
  /// An event for the streams of `gpu` that has recorded no work. Throws DeviceError; Unsupported in a build without
  /// CUDA.
  explicit Event(const LogicalDevice& gpu);
  /// Records all work that has been enqueued so far in `stream`, a stream of the GPU. Throws DeviceError,
  /// NotCapturable.
  void record(const Stream& stream);
  /// Blocks the host until the work that was recorded last is done. Throws DeviceError if it failed, NotCapturable.
  void synchronize() const;

 private:
  friend struct Stream;
  std::unique_ptr<GpuEvent> event_;
  Stream recorded_;                                         ///< the stream that was recorded last
  std::array<std::uint64_t, stream_kinds.size()> clock_{};  ///< contracts::Clock of the recorded point
};

}  // namespace lockstep
