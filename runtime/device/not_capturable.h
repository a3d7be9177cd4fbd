#pragma once

#include <lockstep/runtime/core/error.h>

namespace lockstep {

/// What a thread that captures (GpuCapture) was asked to do is nothing that a graph can do again.
struct NotCapturable : Error {
  using Error::Error;
};

/// Throws NotCapturable, saying `what`, when the calling thread captures.
void refuse_capture(const char* what);

}  // namespace lockstep
