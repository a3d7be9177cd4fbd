#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

class Event;

/// The streams of a logical GPU. It has one of each kind for as long as the program runs.
enum class StreamKind {
  compute,        ///< kernels, and all other work that has no stream of its own
  communication,  ///< collectives that run beside computation
  input,          ///< copies of batches from the host
};
/// In the order of their values.
inline constexpr std::array stream_kinds{StreamKind::compute, StreamKind::communication, StreamKind::input};

/// A stream of a logical GPU: its work runs in the order in which it was enqueued, concurrently with that of other
/// streams unless an Event orders them. A plain value.
struct Stream {
  LogicalDevice gpu{};                    ///< whose stream it is
  StreamKind kind = StreamKind::compute;  ///< which of its streams

  /// All work that is enqueued from now on runs after the work that `event` recorded last. Does not block the host.
  /// Throws DeviceError, NotCapturable.
  void wait(const Event& event) const;
  /// Whether they name the same stream.
  friend bool operator==(const Stream& a, const Stream& b) { return a.gpu == b.gpu && a.kind == b.kind; }
};

/// A point in the work of a stream, as the platform of the build implements it.
class GpuEvent {
 public:
  virtual ~GpuEvent() = default;
  ///@{
  /// As Event says.
  virtual void record(const Stream& stream) = 0;
  virtual void make_wait(const Stream& stream) const = 0;
  virtual void synchronize() const = 0;
  ///@}
};

/// A point in the work of a stream that other streams, and the host, can wait for. Recorded by one thread at a time,
/// which no other thread waits on meanwhile.
class Event {
 public:
  /// For the streams of `gpu`; no work is recorded yet. Throws DeviceError; Unsupported in a build without GPUs.
  explicit Event(const LogicalDevice& gpu);
  /// Records all work that `stream`, one of the GPU's, was given so far. Throws DeviceError, NotCapturable.
  void record(const Stream& stream);
  /// Blocks the host until the work that was recorded last is done. Throws DeviceError for work that failed.
  void synchronize() const;

 private:
  friend struct Stream;
  std::unique_ptr<GpuEvent> event_;
  Stream recorded_;                                         ///< in which stream of the GPU
  std::array<std::uint64_t, stream_kinds.size()> clock_{};  ///< of contracts.h: what is done once this event is reached
};

}  // namespace lockstep
