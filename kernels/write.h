#pragma once

namespace lockstep {

/// Whether a kernel's result replaces the contents of its output or is added to them.
enum class Write { replace, add };

}  // namespace lockstep
