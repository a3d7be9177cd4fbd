#pragma once

namespace lockstep {

/// Makes `{}` stand for the default options, e.g. in Adam({}). A class whose options all have defaults needs a
/// constructor that takes Defaults; without it, `{}` would be ambiguous between the options and the argument of the
/// copy constructor.
enum class Defaults {};

}  // namespace lockstep
