#pragma once

namespace lockstep {

/// What `{}` means to a class of options that all have defaults, as in Adam({}): without a constructor from this, `{}`
/// could be the options or another Adam.
enum class Defaults {};

}  // namespace lockstep
