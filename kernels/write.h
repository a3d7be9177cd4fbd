#pragma once

namespace lockstep {

/// Whether a kernel overwrites the contents of its output (replace) or adds its result to them (add).
enum class Write { replace, add };

}  // namespace lockstep
