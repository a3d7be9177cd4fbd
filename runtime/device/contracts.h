#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <lockstep/runtime/device/stream.h>

// Contracts of the memory that a call gives to a stream of a GPU, checked on the host before the call is made, if asked
// for: `if (contracts::checked())`. Otherwise nothing else of this is called.

namespace lockstep::contracts {

/// Whether they are checked: when LOCKSTEP_CHECK_CONTRACTS is 1 in the environment at the first call.
bool checked();

/// A stretch of memory that a call reads or writes.
struct Use {
  const void* begin = nullptr;  ///< on the GPU
  std::size_t bytes = 0;        ///< 0: not checked
  std::size_t alignment = 1;    ///< what `begin` has to be a multiple of
};

/// Whose memory a call may use: that of its logical GPU, or of any.
enum class Reach { own, all };

///@{
/// `call` is about to give these uses to a stream. Each has to be aligned and to lie within one block that is live and
/// within reach, and events have to order it after all uses by other streams of the GPU; a new block counts as a use by
/// the compute stream. Throws BrokenInvariant, which names the call, the GPU, the address, the bytes and the block's
/// size. Thread-safe.
void check(const char* call, const Stream& stream, std::span<const Use> uses, Reach reach = Reach::own);
inline void check(const char* call, const Stream& stream, std::initializer_list<Use> uses, Reach reach = Reach::own) {
  check(call, stream, std::span<const Use>(uses.begin(), uses.size()), reach);
}
///@}

///@{
/// `allocator` hands out a block of a GPU's memory, or takes it back. What lies within a live block of another's is
/// that other's.
void begin_block(const void* allocator, const LogicalDevice& gpu, const void* block, std::size_t bytes);
void end_block(const void* allocator, const void* block) noexcept;
///@}

/// A vector clock: how many uses of each stream of a GPU come before something.
using Clock = std::array<std::uint64_t, stream_kinds.size()>;
/// Of all that the stream was given so far.
Clock clock_of(const Stream& stream);
/// What the stream is given from now on comes after all that is before `clock`, which is of the same GPU.
void put_after(const Stream& stream, const Clock& clock);
/// The host has waited for all that is before `clock`, of `gpu`.
void reached(const LogicalDevice& gpu, const Clock& clock);
/// The host has waited for all streams of `gpu`.
void finished(const LogicalDevice& gpu);

}  // namespace lockstep::contracts
