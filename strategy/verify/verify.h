#pragma once

#include <span>

#include <lockstep/strategy/variable/variable.h>

namespace lockstep {

/// Compares all copies of every mirrored variable bit by bit; variables that are combined on reading are passed over.
/// Throws BrokenInvariant naming variable, replica, element and both values of the first difference. Outside a replica.
void verify_mirrored(std::span<const Variable> variables);

}  // namespace lockstep
