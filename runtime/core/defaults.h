#pragma once

namespace lockstep {

/// Lets `{}` mean default options, as in Adam({}): a class whose options all have defaults adds a constructor from
/// Defaults, without which `{}` would be ambiguous between the options and a copy of the class.
enum class Defaults {};

}  // namespace lockstep
