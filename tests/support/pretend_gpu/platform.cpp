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
class PretendGpuMark final : public GpuMark {
 public:
  /// Of the compute queue without a `queue`.
  PretendGpuMark(PretendGpuPlatform& platform, PretendGpuQueue* queue) : platform_(platform), queue_(queue) {}
  void set() override {
    refuse_capture("a mark");
    given_ = queue_ ? queue_->given() : 0;
    is_set_ = true;
  }
  void order_before(const LogicalDevice& gpu, GpuQueue queue) const override {
    check(gpu);
    refuse_capture("a mark");
    require<BrokenInvariant>(is_set_, "{} waits for a mark that nobody has set", gpu.name());
    if (queue == GpuQueue::compute) return wait();
    PretendGpuPlatform::SideQueue& later = platform_.side_queue(gpu, queue);
    if (queue_) return later.work.enqueue([this_queue = queue_, count = given_.load()] { this_queue->finish(count); });
    const std::lock_guard lock(platform_.mutex_);
    ++later.waits;
  }
  void wait() const override {
    refuse_capture("a mark");
    if (queue_) queue_->finish(given_);
  }

 private:
  PretendGpuPlatform& platform_;
  PretendGpuQueue* queue_;
  std::atomic<bool> is_set_ = false;
  std::atomic<std::size_t> given_ = 0;
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
  queue(gpu, GpuQueue::input).enqueue([this, to, from, bytes] {
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
  for (const GpuQueue side : {GpuQueue::communication, GpuQueue::input})
    queue(gpu, side).finish(queue(gpu, side).given());
  throw_fault();
}

std::unique_ptr<GpuMark> PretendGpuPlatform::make_mark(const LogicalDevice& gpu, GpuQueue queue) {
  check(gpu);
  return std::make_unique<PretendGpuMark>(*this, queue == GpuQueue::compute ? nullptr : &this->queue(gpu, queue));
}

PretendGpuQueue& PretendGpuPlatform::queue(const LogicalDevice& gpu, GpuQueue queue) {
  return side_queue(gpu, queue).work;
}

PretendGpuPlatform::SideQueue& PretendGpuPlatform::side_queue(const LogicalDevice& gpu, GpuQueue queue) {
  require<BrokenInvariant>(queue != GpuQueue::compute, "what {} computes waits in no queue", gpu.name());
  const std::lock_guard lock(mutex_);
  std::unique_ptr<SideQueue>& found = queues_[{gpu.index, queue}];
  if (!found) {
    found = std::make_unique<SideQueue>();
    found->work.hurry(hurries_);
  }
  return *found;
}

std::size_t PretendGpuPlatform::waits_for_computing(const LogicalDevice& gpu, GpuQueue queue) {
  const SideQueue& found = side_queue(gpu, queue);
  const std::lock_guard lock(mutex_);
  return found.waits;
}

void PretendGpuPlatform::hurry(bool on) {
  const std::lock_guard lock(mutex_);
  hurries_ = on;
  for (const auto& [of, queue] : queues_) queue->work.hurry(on);
}

void PretendGpuPlatform::take_down_fault(const std::string& op, std::int64_t place) {
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
