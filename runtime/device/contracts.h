#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <lockstep/runtime/device/stream.h>

// Checks the memory that work in a stream of a GPU will use. The checks run on the host, before the call that enqueues
// the work. Off by default; call the other functions only if `contracts::checked()` returns true.

namespace lockstep::contracts {

/// Whether contracts are checked: true if LOCKSTEP_CHECK_CONTRACTS was 1 in the environment at the first call.
bool checked();

/// Memory that a call reads or writes.
struct MemoryRange {
  const void* begin = nullptr;  ///< address on the GPU
  std::size_t bytes = 0;        ///< 0: not checked
  std::size_t alignment = 1;    ///< `begin` must be a multiple of it
};

/// The GPUs whose memory a call may use: only the logical GPU of its stream, or any GPU.
enum class Owner { own_gpu, any_gpu };

///@{
/// Checks the ranges that `call` is about to give to `stream`. Each range must be aligned and inside one live block of
/// a permitted owner, and events must order this use after all uses of the same memory by other streams of the GPU. A
/// newly allocated block counts as used by the compute stream. The order of uses is not checked for blocks of another
/// GPU. Throws a BrokenInvariant that names the call, the GPU, the address, the bytes and, if there is a block, its
/// size. Thread-safe.
void check(const char* call, const Stream& stream, std::span<const MemoryRange> ranges, Owner owner = Owner::own_gpu);
inline void check(const char* call, const Stream& stream, std::initializer_list<MemoryRange> ranges,
                  Owner owner = Owner::own_gpu) {
  check(call, stream, std::span<const MemoryRange>(ranges.begin(), ranges.size()), owner);
}
///@}

///@{
/// Record that `allocator` hands out a block of a GPU's memory (begin_block) or takes it back (end_block). A block
/// inside a live block of another allocator is not recorded: it belongs to that allocator.
void begin_block(const void* allocator, const LogicalDevice& gpu, const void* block, std::size_t bytes);
void end_block(const void* allocator, const void* block) noexcept;
///@}

/// A vector clock of a point in a GPU's work: for each stream, the number of the stream's uses of memory before the
/// point.
using Clock = std::array<std::uint64_t, stream_kinds.size()>;
/// The point after all work that has been enqueued in `stream` so far.
Clock clock_of(const Stream& stream);
/// Records that all later work of `stream` runs after the point `clock` of the same GPU.
void put_after(const Stream& stream, const Clock& clock);
/// Records that the host has waited for the point `clock` of `gpu`.
void reached(const LogicalDevice& gpu, const Clock& clock);
/// Records that the host has waited for all streams of `gpu`.
void finished(const LogicalDevice& gpu);

}  // namespace lockstep::contracts
