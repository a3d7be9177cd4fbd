#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>

#include <lockstep/runtime/device/gpu_platform.h>

// What is promised of all memory that a call gives to a GPU's queue, and is looked after on the host before the call is
// made, in builds without NDEBUG: `if constexpr (contracts::checked)`. In others nothing calls what is here.

namespace lockstep::contracts {

/// Whether this source is compiled to check. Not for headers: programs may be compiled otherwise than the library.
#ifdef NDEBUG
inline constexpr bool checked = false;
#else
inline constexpr bool checked = true;
#endif

/// A stretch of memory that a call reads or writes.
struct Use {
  const void* begin = nullptr;  ///< on the GPU
  std::size_t bytes = 0;        ///< none: of no matter
  std::size_t alignment = 1;    ///< what `begin` has to be a multiple of
};

/// Whose memory a call may use: that of its logical GPU, or of any.
enum class Reach { own, all };

///@{
/// `call` is about to give these uses to a queue of `gpu`. Each has to be aligned and to lie within one block that is
/// live and within reach, and marks have to put it after all that other queues of `gpu` have been given to do there;
/// the compute queue has been given the block itself, too. Throws BrokenInvariant, which names the call, the GPU, the
/// address, the bytes and the block's size. Thread-safe.
void check(const char* call, const LogicalDevice& gpu, GpuQueue queue, std::span<const Use> uses,
           Reach reach = Reach::own);
inline void check(const char* call, const LogicalDevice& gpu, GpuQueue queue, std::initializer_list<Use> uses,
                  Reach reach = Reach::own) {
  check(call, gpu, queue, std::span<const Use>(uses.begin(), uses.size()), reach);
}
///@}

///@{
/// `allocator` hands out a block of a GPU's memory, or takes it back. What lies within a live block of another's is
/// that other's.
void begin_block(const void* allocator, const LogicalDevice& gpu, const void* block, std::size_t bytes);
void end_block(const void* allocator, const void* block) noexcept;
///@}

/// A mark of this queue of `gpu`, such that what it orders is known to `check`.
std::unique_ptr<GpuMark> watched(std::unique_ptr<GpuMark> mark, const LogicalDevice& gpu, GpuQueue queue);
/// The host has waited for all queues of `gpu`.
void finished(const LogicalDevice& gpu);

}  // namespace lockstep::contracts
