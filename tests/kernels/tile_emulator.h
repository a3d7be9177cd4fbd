#pragma once

#include <cstdint>

// Intel's tile registers (AMX) on processors that have none: what they do not know makes a signal, whose handler does
// what the instruction would. Written from Intel's manual (Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2: LDTILECFG, TDPBF16PS, TILELOADD, TILERELEASE, TILESTORED, TILEZERO), not from the kernels.

namespace lockstep::test {

/// While it lives, the process's threads may use tile registers: the processor's, where the system permits that.
class TileEmulator {
 public:
  TileEmulator();
  ~TileEmulator();
  TileEmulator(const TileEmulator&) = delete;
  TileEmulator& operator=(const TileEmulator&) = delete;

  /// Instructions done by all threads since the process began.
  static std::uint64_t instructions();
};

}  // namespace lockstep::test
