#include "lockstep/runtime/memory/uploads.h"

#include <bit>
#include <cstring>
#include <map>
#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

/// Alignment of each copy in staging memory, at which GPUs read fastest.
constexpr std::size_t alignment = 512;
std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The smallest share of a copy that pays for waking a thread.
constexpr std::int64_t bytes_per_thread = 1 << 20;

/// Copies on the calling thread's share of the cores: one core alone copies more slowly than GPUs read.
void fill(std::byte* staging, const Upload& copy) {
  parallel_for(static_cast<std::int64_t>(copy.bytes), bytes_per_thread, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(staging + begin, static_cast<const std::byte*>(copy.from) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

Uploads::Uploads(const LogicalDevice& gpu) : gpu_(gpu), computed_(gpu) {}

Uploads::~Uploads() {
  const ContextScope there(context_on(gpu_));
  for (const Staging& staging : stagings_) {
    try {
      if (staging.read) staging.read->synchronize();
    } catch (const Error& error) {  // the GPU has failed
      log_warning("waiting for copies to {} failed: {}", gpu_.name(), error.what());
    }
    if (staging.memory != nullptr) gpu_platform().pinned_memory().release(staging.memory, staging.bytes);
  }
}

std::shared_ptr<const Event> Uploads::begin(std::span<const Upload> copies) {
  std::size_t bytes = 0;
  for (const Upload& copy : copies) bytes += padded(copy.bytes);
  const std::lock_guard lock(mutex_);
  Staging& staging = next_staging(bytes);
  const Stream input{gpu_, StreamKind::input};
  computed_.record(Stream{gpu_});
  input.wait(computed_);
  const std::shared_ptr<Event> done = take_event();
  std::byte* place = staging.memory;
  for (const Upload& copy : copies) {
    if (contracts::checked()) contracts::check("an upload", input, {{copy.to, copy.bytes}});
    fill(place, copy);
    gpu_platform().copy_from_pinned(copy.to, gpu_, place, copy.bytes);
    place += padded(copy.bytes);
  }
  done->record(input);
  staging.read = done;
  return done;
}

Uploads::Staging& Uploads::next_staging(std::size_t bytes) {
  const ContextScope there(context_on(gpu_));
  Staging& staging = stagings_[calls_ % stagings_.size()];
  if (staging.read) staging.read->synchronize();
  if (staging.bytes < bytes) {
    MemoryResource& pinned = gpu_platform().pinned_memory();
    if (staging.memory != nullptr)
      pinned.release(std::exchange(staging.memory, nullptr), std::exchange(staging.bytes, 0));
    // A power of two, so that growing batches seldom allocate: the driver may then wait for GPUs that wait for each
    // other.
    const std::size_t more = std::bit_ceil(bytes);
    staging.memory = static_cast<std::byte*>(pinned.allocate(more));
    staging.bytes = more;
  }
  ++calls_;
  return staging;
}

std::shared_ptr<Event> Uploads::take_event() {
  std::unique_ptr<Event> event;
  {
    const std::lock_guard lock(spare_mutex_);
    if (spare_.empty()) {
      event = std::make_unique<Event>(gpu_);
      spare_.reserve(++events_);  // so that giving an event back needs no allocation
    } else {
      event = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  return {event.release(), [this](Event* used) {
            const std::lock_guard lock(spare_mutex_);
            spare_.emplace_back(used);
          }};
}

Uploads& uploads(const LogicalDevice& gpu) {
  // Never destroyed: batches in static storage return their events until the very end of the program.
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::map<int, std::unique_ptr<Uploads>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Uploads>& found = all[gpu.index];
  if (!found) found = std::make_unique<Uploads>(gpu);
  return *found;
}

}  // namespace lockstep
