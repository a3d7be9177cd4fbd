#pragma once

namespace lockstep {

/// Whether results replace what is in the output or are added to it.
enum class Write { replace, add };

}  // namespace lockstep
