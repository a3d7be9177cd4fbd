#pragma once

#include <cstdint>

// Emulates Intel's tile registers (AMX) on processors without them. Their instructions raise a signal there, and the
// signal's handler does the instruction's work. Written from Intel's manual (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 2: LDTILECFG, TDPBF16PS, TILELOADD, TILERELEASE, TILESTORED, TILEZERO), not from the
// kernels.

namespace lockstep::test {

/// During its lifetime, the process's threads may use tile registers. These are the processor's own registers if the
/// system permits their use.
class TileEmulator {
 public:
  TileEmulator();
  ~TileEmulator();
  TileEmulator(const TileEmulator&) = delete;
  TileEmulator& operator=(const TileEmulator&) = delete;

  /// Number of emulated instructions in all threads since the process began.
  static std::uint64_t instructions();
};

}  // namespace lockstep::test
