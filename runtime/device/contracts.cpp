#include "lockstep/runtime/device/contracts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
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

constexpr std::array<std::string_view, stream_kinds.size()> stream_names{"compute", "communication", "input"};
std::size_t index(StreamKind stream) { return static_cast<std::size_t>(stream); }

/// One use of a memory range by a stream.
struct Noted {
  const std::byte* begin;
  const std::byte* end;
  StreamKind stream;
  std::uint64_t number;  ///< number of this use among the stream's uses, from 1

  bool overlaps(const std::byte* from, const std::byte* to) const { return begin < to && from < end; }
  bool is_before(const Clock& clock) const { return number <= clock[index(stream)]; }
};

struct Block {
  const void* allocator;
  LogicalDevice gpu;
  std::size_t bytes;
  std::vector<Noted> uses{};  ///< without those that a later use covers
};

struct Gpu {
  std::array<Clock, stream_kinds.size()> clocks{};  ///< by stream: the uses that happen before its next one
  std::vector<Noted> left{};  ///< uses of freed blocks that the compute stream does not yet wait for

  Clock& clock(StreamKind stream) { return clocks[index(stream)]; }
  Noted note(const std::byte* begin, const std::byte* end, StreamKind stream) {
    return {begin, end, stream, ++clock(stream)[index(stream)]};
  }
};

void merge(const Clock& from, Clock& into) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

class Ledger {
 public:
  void check(const char* call, const Stream& stream, const MemoryRange& range, Owner owner) {
    const std::lock_guard lock(mutex_);
    const auto* const begin = static_cast<const std::byte*>(range.begin);
    const auto* const end = begin + range.bytes;
    const auto given = [&] {
      return fmt::format("{} on {} is given {} bytes at {}", call, stream.gpu.name(), range.bytes, range.begin);
    };
    const auto found = block_at(begin);
    if (found == blocks_.end()) fail<BrokenInvariant>("{}, where no block is live", given());
    auto& [start, block] = *found;
    const auto place = [&, &block = block] {
      return fmt::format("{}, in a block of {} bytes of {}", given(), block.bytes, block.gpu.name());
    };
    if (end > start + block.bytes)
      fail<BrokenInvariant>("{}, of which {} are behind its end", place(), end - start - block.bytes);
    if (reinterpret_cast<std::uintptr_t>(begin) % range.alignment != 0)
      fail<BrokenInvariant>("{}, not aligned to {}", place(), range.alignment);
    if (!(block.gpu == stream.gpu)) {
      if (owner == Owner::own_gpu) fail<BrokenInvariant>("{}, not its own", place());
      return;  // the order in which GPUs use each other's memory is not tracked
    }
    if (const Noted* const other = unordered(block, begin, end, stream.kind))
      fail<BrokenInvariant>("{}, in its {} stream, which waits for no event after the use by its {} stream", place(),
                            stream_names[index(stream.kind)], stream_names[index(other->stream)]);
    note(block, begin, end, stream.kind);
  }

  void begin_block(const void* allocator, const LogicalDevice& gpu, const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto* const begin = static_cast<const std::byte*>(memory);
    if (block_at(begin) != blocks_.end()) return;
    Gpu& state = gpus_[gpu.index];
    Block block{.allocator = allocator, .gpu = gpu, .bytes = bytes};
    block.uses.push_back(state.note(begin, begin + bytes, StreamKind::compute));
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
    const Clock& computed = state.clock(StreamKind::compute);
    const auto ended = blocks_.extract(found);
    for (const Noted& noted : ended.mapped().uses)
      if (!noted.is_before(computed)) state.left.push_back(noted);
  }

  Clock clock_of(const Stream& stream) {
    const std::lock_guard lock(mutex_);
    return gpus_[stream.gpu.index].clock(stream.kind);
  }

  void put_after(const LogicalDevice& gpu, std::span<const StreamKind> streams, const Clock& clock) {
    const std::lock_guard lock(mutex_);
    for (const StreamKind stream : streams) merge(clock, gpus_[gpu.index].clock(stream));
  }

 private:
  using Blocks = std::map<const std::byte*, Block>;

  Blocks::iterator block_at(const std::byte* address) {
    const auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return blocks_.end();
    const auto before = std::prev(after);
    return address < before->first + before->second.bytes ? before : blocks_.end();
  }

  /// The first use of [begin, end) that no event orders before the next use by `stream`; null if there is none.
  const Noted* unordered(const Block& block, const std::byte* begin, const std::byte* end, StreamKind stream) {
    const Clock& clock = gpus_[block.gpu.index].clock(stream);
    const auto found = std::ranges::find_if(
        block.uses, [&](const Noted& noted) { return noted.overlaps(begin, end) && !noted.is_before(clock); });
    return found == block.uses.end() ? nullptr : &*found;
  }

  /// Precondition: `unordered` returns null for this use.
  void note(Block& block, const std::byte* begin, const std::byte* end, StreamKind stream) {
    std::erase_if(block.uses, [&](const Noted& noted) { return noted.begin >= begin && noted.end <= end; });
    block.uses.push_back(gpus_[block.gpu.index].note(begin, end, stream));
  }

  static void forget_finished(Gpu& gpu) {
    const Clock& computed = gpu.clock(StreamKind::compute);
    std::erase_if(gpu.left, [&](const Noted& noted) { return noted.is_before(computed); });
  }

  std::mutex mutex_;  ///< guards the members below
  Blocks blocks_;     ///< live blocks by address
  std::map<int, Gpu> gpus_;
};

Ledger& ledger() {
  static auto& ledger = *new Ledger;  // never destroyed: tensors in static storage free memory until the end
  return ledger;
}

}  // namespace

bool checked() {
  static const bool asked = [] {
    const char* const setting = std::getenv("LOCKSTEP_CHECK_CONTRACTS");
    return setting != nullptr && std::string_view(setting) == "1";
  }();
  return asked;
}

void check(const char* call, const Stream& stream, std::span<const MemoryRange> ranges, Owner owner) {
  for (const MemoryRange& range : ranges)
    if (range.bytes > 0) ledger().check(call, stream, range, owner);
}

void begin_block(const void* allocator, const LogicalDevice& gpu, const void* block, std::size_t bytes) {
  ledger().begin_block(allocator, gpu, block, bytes);
}

void end_block(const void* allocator, const void* block) noexcept {
  try {
    ledger().end_block(allocator, block);
  } catch (const std::bad_alloc&) {  // NOLINT: unfinished uses of the block by other streams are forgotten
  }
}

Clock clock_of(const Stream& stream) { return ledger().clock_of(stream); }

void put_after(const Stream& stream, const Clock& clock) {
  ledger().put_after(stream.gpu, std::span(&stream.kind, 1), clock);
}

void reached(const LogicalDevice& gpu, const Clock& clock) { ledger().put_after(gpu, stream_kinds, clock); }

void finished(const LogicalDevice& gpu) {
  for (const StreamKind kind : stream_kinds) reached(gpu, clock_of({gpu, kind}));
}

}  // namespace lockstep::contracts
