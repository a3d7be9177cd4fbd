#pragma once

#include <lockstep/runtime/core/error.h>

namespace lockstep {

/// A capturing thread (GpuCapture) made a call that a graph cannot repeat.
struct NotCapturable : Error {
  using Error::Error;
};

/// Throws NotCapturable with `what` in its message if the calling thread is capturing.
void refuse_capture(const char* what);

}  // namespace lockstep
