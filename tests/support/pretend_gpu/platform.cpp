#include <atomic>
#include <cstdlib>
#include <cstring>

#include <support/pretend_gpu/platform.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep::test {
namespace {

void check(const LogicalDevice& gpu) {
  require<BrokenInvariant>(gpu.kind == DeviceKind::gpu, "{} is asked to be a GPU", gpu.name());
}

using Works = std::vector<std::function<void()>>;

/// What the calling thread captures.
struct Capture {
  LogicalDevice gpu{};
  Works works{};
};
thread_local std::unique_ptr<Capture> capture;

}  // namespace

/// Does again what has been noted, on whatever is at its addresses then.
class PretendGpuGraph final : public GpuGraph {
 public:
  PretendGpuGraph(PretendGpuPlatform& platform, Capture noted) : platform_(platform), noted_(std::move(noted)) {}
  void launch() const override {
    ++platform_.launches_;
    const ContextScope there(context_on(noted_.gpu));
    for (const std::function<void()>& work : noted_.works) platform_.compute(work);
  }

 private:
  PretendGpuPlatform& platform_;
  Capture noted_;
};

/// What is computed is done when it is given.
class PretendGpuEvent final : public GpuEvent {
 public:
  explicit PretendGpuEvent(PretendGpuPlatform& platform) : platform_(platform) {}
  void record(const Stream& stream) override {
    check(stream.gpu);
    refuse_capture(an_event);
    stream_ = stream.kind == StreamKind::compute ? nullptr : &platform_.stream(stream);
    given_ = stream_ ? stream_->given() : 0;
    is_recorded_ = true;
  }
  void make_wait(const Stream& stream) const override {
    check(stream.gpu);
    refuse_capture(an_event);
    require<BrokenInvariant>(is_recorded_, "{} waits for an event that nobody has recorded", stream.gpu.name());
    if (stream.kind == StreamKind::compute) return synchronize();
    PretendGpuPlatform::SideStream& waiting = platform_.side_stream(stream);
    if (stream_) return waiting.work.enqueue([this_stream = stream_, count = given_] { this_stream->finish(count); });
    const std::lock_guard lock(platform_.mutex_);
    ++waiting.waits;
  }
  void synchronize() const override {
    refuse_capture(an_event);
    if (stream_) stream_->finish(given_);
  }

 private:
  static constexpr const char* an_event = "an event";
  PretendGpuPlatform& platform_;
  PretendGpuStream* stream_ = nullptr;  ///< that it was recorded in; null for the compute stream
  bool is_recorded_ = false;
  std::size_t given_ = 0;
};

void* PretendPinnedMemory::allocate(std::size_t bytes) {
  refuse_capture("a step that needs pinned memory");
  void* const memory = std::malloc(bytes);
  require<OutOfMemory>(memory != nullptr, "{} bytes of pinned memory are not to be had", bytes);
  const std::lock_guard lock(mutex_);
  pieces_[static_cast<const std::byte*>(memory)] = bytes;
  ++allocations_;
  return memory;
}

void PretendPinnedMemory::release(void* memory, std::size_t) noexcept {
  {
    const std::lock_guard lock(mutex_);
    pieces_.erase(static_cast<const std::byte*>(memory));
  }
  std::free(memory);
}

bool PretendPinnedMemory::contains(const void* address, std::size_t bytes) const {
  const auto* const first = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mutex_);
  const auto after = pieces_.upper_bound(first);
  if (after == pieces_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return first + bytes <= begin + size;
}

std::size_t PretendPinnedMemory::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocations_;
}

GpuReport PretendGpuPlatform::report() {
  constexpr std::size_t gib = std::size_t{1} << 30;
  GpuReport report;
  for (const std::vector<int>& peers : peers_)
    report.devices.push_back({.kind = DeviceKind::gpu,
                              .index = static_cast<int>(report.devices.size()),
                              .model = "pretended",
                              .memory_total = 8 * gib,
                              .cores = 1,
                              .compute_capability = "9.0",
                              .peers = peers});
  return report;
}

std::size_t PretendGpuPlatform::free_memory(int gpu) {
  return report().devices.at(static_cast<std::size_t>(gpu)).memory_total;
}

MemoryResource& PretendGpuPlatform::memory(const LogicalDevice& gpu) {
  check(gpu);
  return memory_;
}

void PretendGpuPlatform::copy(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
                              std::size_t bytes) {
  // What is said of the two sides has to be true.
  require<BrokenInvariant>(memory_.contains(to) == (destination.kind == DeviceKind::gpu) &&
                               memory_.contains(from) == (source.kind == DeviceKind::gpu),
                           "a copy from {} to {} has addresses of others", source.name(), destination.name());
  if (source.kind == DeviceKind::cpu) refuse_capture("a copy from the host");
  if (destination.kind == DeviceKind::cpu) refuse_capture("a value read by the host");
  if (destination.kind == DeviceKind::cpu) throw_fault();
  if (!(source == destination)) refuse_capture("a copy from another GPU");
  const ContextScope there(context_on(destination.kind == DeviceKind::gpu ? destination : source));
  compute([to, from, bytes] { std::memcpy(to, from, bytes); });
}

void PretendGpuPlatform::copy_from_pinned(void* to, const LogicalDevice& gpu, const void* from, std::size_t bytes) {
  check(gpu);
  refuse_capture("work beside what is computed");
  require<BrokenInvariant>(memory_.contains(to) && pinned_memory_.contains(from, bytes),
                           "a copy from pinned memory to {} has addresses of others", gpu.name());
  stream({gpu, StreamKind::input}).enqueue([this, to, from, bytes] {
    const DeviceMemory::Access access(memory_);
    std::memcpy(to, from, bytes);
  });
}

void PretendGpuPlatform::clear(const LogicalDevice& gpu, void* memory, std::size_t bytes) {
  check(gpu);
  const ContextScope there(context_on(gpu));
  compute([memory, bytes] { std::memset(memory, 0, bytes); });
}

void PretendGpuPlatform::fail_launch(const LogicalDevice& gpu, std::int64_t first) {
  const std::lock_guard lock(mutex_);
  launches_to_failure_[gpu.index] = first;
}

void PretendGpuPlatform::launch() {
  const LogicalDevice& gpu = current_context().device;
  const std::lock_guard lock(mutex_);
  const auto left = launches_to_failure_.find(gpu.index);
  if (left == launches_to_failure_.end() || left->second == 0) return;
  // As check_cuda words it.
  require<DeviceError>(--left->second > 0,
                       "a kernel's launch failed on {}: invalid configuration argument "
                       "(cudaErrorInvalidConfiguration)",
                       gpu.name());
}

void PretendGpuPlatform::compute(std::function<void()> work) {
  launch();
  if (capture) {
    if (!(capture->gpu == current_context().device)) refuse_capture("work of another GPU");
    capture->works.push_back(std::move(work));
    return;
  }
  const DeviceMemory::Access access(memory_);
  work();
}

bool PretendGpuPlatform::captures() const { return capture != nullptr; }

void PretendGpuPlatform::begin_capture(const LogicalDevice& gpu) {
  check(gpu);
  capture = std::make_unique<Capture>(Capture{.gpu = gpu});
}

std::unique_ptr<GpuGraph> PretendGpuPlatform::end_capture(const LogicalDevice& gpu) {
  const std::unique_ptr<Capture> ended = std::exchange(capture, nullptr);
  require<BrokenInvariant>(ended && ended->gpu == gpu, "a capture of {} is ended that has not begun", gpu.name());
  return std::make_unique<PretendGpuGraph>(*this, std::move(*ended));
}

void PretendGpuPlatform::synchronize(const LogicalDevice& gpu) {
  check(gpu);
  refuse_capture("a wait for a GPU");
  for (const StreamKind side : {StreamKind::communication, StreamKind::input}) {
    PretendGpuStream& work = stream({gpu, side});
    work.finish(work.given());
  }
  throw_fault();
}

std::unique_ptr<GpuEvent> PretendGpuPlatform::make_event(const LogicalDevice& gpu) {
  check(gpu);
  return std::make_unique<PretendGpuEvent>(*this);
}

PretendGpuStream& PretendGpuPlatform::stream(const Stream& stream) { return side_stream(stream).work; }

PretendGpuPlatform::SideStream& PretendGpuPlatform::side_stream(const Stream& stream) {
  require<BrokenInvariant>(stream.kind != StreamKind::compute, "what {} computes never waits", stream.gpu.name());
  const std::lock_guard lock(mutex_);
  std::unique_ptr<SideStream>& found = streams_[{stream.gpu.index, stream.kind}];
  if (!found) {
    found = std::make_unique<SideStream>();
    found->work.hurry(hurries_);
  }
  return *found;
}

std::size_t PretendGpuPlatform::waits_for_computing(const Stream& stream) {
  const SideStream& found = side_stream(stream);
  const std::lock_guard lock(mutex_);
  return found.waits;
}

void PretendGpuPlatform::hurry(bool on) {
  const std::lock_guard lock(mutex_);
  hurries_ = on;
  for (const auto& [of, stream] : streams_) stream->work.hurry(on);
}

void PretendGpuPlatform::report_out_of_range(const std::string& op, std::int64_t place) {
  set_fault(fmt::format("{}: index number {} is outside its range", op, place));
}

void PretendGpuPlatform::set_fault(const std::string& what) {
  const std::lock_guard lock(mutex_);
  fault_ = what;
}

void PretendGpuPlatform::throw_fault() {
  const std::lock_guard lock(mutex_);
  const std::string fault = std::exchange(fault_, {});
  require(fault.empty(), "{}", fault);
}

}  // namespace lockstep::test
