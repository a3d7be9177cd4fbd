#include "lockstep/runtime/device/contracts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep::contracts {
namespace {

constexpr std::array all_queues{GpuQueue::compute, GpuQueue::communication, GpuQueue::input};
constexpr std::array<std::string_view, all_queues.size()> queue_names{"compute", "communication", "input"};
std::size_t index(GpuQueue queue) { return static_cast<std::size_t>(queue); }

/// How many uses of each queue of a GPU have been noted when something comes.
using Clock = std::array<std::uint64_t, all_queues.size()>;

/// What a queue has been given to do with some memory.
struct Noted {
  const std::byte* begin;
  const std::byte* end;
  GpuQueue queue;
  std::uint64_t number;  ///< of the queue's uses

  bool overlaps(const std::byte* from, const std::byte* to) const { return begin < to && from < end; }
  bool is_before(const Clock& clock) const { return number <= clock[index(queue)]; }
};

struct Block {
  const void* allocator;
  LogicalDevice gpu;
  std::size_t bytes;
  std::vector<Noted> uses{};  ///< but for those that a later one comes after and covers
};

struct Gpu {
  std::array<Clock, all_queues.size()> clocks{};  ///< by queue: what comes before its next use; its own are all
  std::vector<Noted> left{};  ///< of blocks that are not live, by queues that compute was not yet put after

  Clock& clock(GpuQueue queue) { return clocks[index(queue)]; }
  Noted note(const std::byte* begin, const std::byte* end, GpuQueue queue) {
    return {begin, end, queue, ++clock(queue)[index(queue)]};
  }
};

void merge(const Clock& from, Clock& into) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

class Ledger {
 public:
  void check(const char* call, const LogicalDevice& gpu, GpuQueue queue, const Use& use, Reach reach) {
    const std::lock_guard lock(mutex_);
    const auto* const begin = static_cast<const std::byte*>(use.begin);
    const auto* const end = begin + use.bytes;
    const auto given = [&] {
      return fmt::format("{} on {} is given {} bytes at {}", call, gpu.name(), use.bytes, use.begin);
    };
    const auto found = block_at(begin);
    if (found == blocks_.end()) fail<BrokenInvariant>("{}, where no block is live", given());
    auto& [start, block] = *found;
    const auto place = [&, &block = block] {
      return fmt::format("{}, in a block of {} bytes of {}", given(), block.bytes, block.gpu.name());
    };
    if (end > start + block.bytes)
      fail<BrokenInvariant>("{}, of which {} are behind its end", place(), end - start - block.bytes);
    if (reinterpret_cast<std::uintptr_t>(begin) % use.alignment != 0)
      fail<BrokenInvariant>("{}, not aligned to {}", place(), use.alignment);
    if (!(block.gpu == gpu)) {
      if (reach == Reach::own) fail<BrokenInvariant>("{}, not its own", place());
      return;  // in which order GPUs use each other's memory is not known here
    }
    if (const Noted* const other = unordered(block, begin, end, queue))
      fail<BrokenInvariant>("{}, for its {} queue, which no mark has put after what its {} queue does there", place(),
                            queue_names[index(queue)], queue_names[index(other->queue)]);
    note(block, begin, end, queue);
  }

  void begin_block(const void* allocator, const LogicalDevice& gpu, const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto* const begin = static_cast<const std::byte*>(memory);
    if (block_at(begin) != blocks_.end()) return;
    Gpu& state = gpus_[gpu.index];
    Block block{.allocator = allocator, .gpu = gpu, .bytes = bytes};
    block.uses.push_back(state.note(begin, begin + bytes, GpuQueue::compute));
    forget_finished(state);
    for (const Noted& left : state.left)
      if (left.overlaps(begin, begin + bytes)) block.uses.push_back(left);
    blocks_.emplace(begin, std::move(block));
  }

  void end_block(const void* allocator, const void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<const std::byte*>(memory));
    if (found == blocks_.end() || found->second.allocator != allocator) return;
    Gpu& state = gpus_[found->second.gpu.index];
    forget_finished(state);
    const Clock& computed = state.clock(GpuQueue::compute);
    const auto ended = blocks_.extract(found);
    for (const Noted& noted : ended.mapped().uses)
      if (!noted.is_before(computed)) state.left.push_back(noted);
  }

  // Marks are read by threads other than those that set them: both under the lock.

  void read_clock(const LogicalDevice& gpu, GpuQueue queue, Clock& clock) {
    const std::lock_guard lock(mutex_);
    clock = gpus_[gpu.index].clock(queue);
  }

  void put_after(const LogicalDevice& gpu, const Clock& clock, std::span<const GpuQueue> queues) {
    const std::lock_guard lock(mutex_);
    for (const GpuQueue queue : queues) merge(clock, gpus_[gpu.index].clock(queue));
  }

 private:
  using Blocks = std::map<const std::byte*, Block>;

  Blocks::iterator block_at(const std::byte* address) {
    const auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return blocks_.end();
    const auto before = std::prev(after);
    return address < before->first + before->second.bytes ? before : blocks_.end();
  }

  /// The first use of this memory that no mark has put before the next one of `queue`; null if there is none.
  const Noted* unordered(const Block& block, const std::byte* begin, const std::byte* end, GpuQueue queue) {
    const Clock& clock = gpus_[block.gpu.index].clock(queue);
    const auto found = std::ranges::find_if(
        block.uses, [&](const Noted& noted) { return noted.overlaps(begin, end) && !noted.is_before(clock); });
    return found == block.uses.end() ? nullptr : &*found;
  }

  /// Precondition: nothing there is unordered.
  void note(Block& block, const std::byte* begin, const std::byte* end, GpuQueue queue) {
    std::erase_if(block.uses, [&](const Noted& noted) { return noted.begin >= begin && noted.end <= end; });
    block.uses.push_back(gpus_[block.gpu.index].note(begin, end, queue));
  }

  static void forget_finished(Gpu& gpu) {
    const Clock& computed = gpu.clock(GpuQueue::compute);
    std::erase_if(gpu.left, [&](const Noted& noted) { return noted.is_before(computed); });
  }

  std::mutex mutex_;  ///< of what follows
  Blocks blocks_;     ///< the live ones, by address
  std::map<int, Gpu> gpus_;
};

Ledger& ledger() {
  static auto& ledger = *new Ledger;  // tensors in static storage give their memory back until the program's end
  return ledger;
}

class WatchedMark final : public GpuMark {
 public:
  WatchedMark(std::unique_ptr<GpuMark> mark, const LogicalDevice& gpu, GpuQueue queue)
      : mark_(std::move(mark)), gpu_(gpu), queue_(queue) {}
  void set() override {
    ledger().read_clock(gpu_, queue_, before_);
    mark_->set();
  }
  void order_before(const LogicalDevice& gpu, GpuQueue queue) const override {
    mark_->order_before(gpu, queue);
    if (gpu == gpu_) ledger().put_after(gpu_, before_, std::span(&queue, 1));
  }
  void wait() const override {
    mark_->wait();
    ledger().put_after(gpu_, before_, all_queues);
  }

 private:
  std::unique_ptr<GpuMark> mark_;
  LogicalDevice gpu_;
  GpuQueue queue_;
  Clock before_{};
};

}  // namespace

void check(const char* call, const LogicalDevice& gpu, GpuQueue queue, std::span<const Use> uses, Reach reach) {
  for (const Use& use : uses)
    if (use.bytes > 0) ledger().check(call, gpu, queue, use, reach);
}

void begin_block(const void* allocator, const LogicalDevice& gpu, const void* block, std::size_t bytes) {
  ledger().begin_block(allocator, gpu, block, bytes);
}

void end_block(const void* allocator, const void* block) noexcept {
  try {
    ledger().end_block(allocator, block);
  } catch (const std::bad_alloc&) {  // NOLINT: what another queue still does there is then forgotten
  }
}

std::unique_ptr<GpuMark> watched(std::unique_ptr<GpuMark> mark, const LogicalDevice& gpu, GpuQueue queue) {
  return std::make_unique<WatchedMark>(std::move(mark), gpu, queue);
}

void finished(const LogicalDevice& gpu) {
  for (const GpuQueue queue : all_queues) {
    Clock clock{};
    ledger().read_clock(gpu, queue, clock);
    ledger().put_after(gpu, clock, all_queues);
  }
}

}  // namespace lockstep::contracts
