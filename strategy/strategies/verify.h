#pragma once

#include <span>
#include <vector>

#include <lockstep/strategy/core/variable.h>

namespace lockstep {

class Cluster;

/// Compares all copies of every mirrored variable bit by bit; variables on_read are skipped.
/// Throws BrokenInvariant naming variable, replica, element and both values of the first difference. With `workers`,
/// which must all call it, compares their copies too, naming variable and worker. Outside a replica.
void verify_mirrored(std::span<const Variable> variables, Cluster* workers = nullptr);

/// The variables with which each replica, in replica order, begins an optimizer's first step: their gradients are
/// added up by position. Throws InvalidArgument naming the first difference: replica, position, both names and shapes.
void verify_same_order(std::span<const std::vector<Variable>* const> by_replica);

}  // namespace lockstep
