#pragma once

#include <span>
#include <vector>

#include <lockstep/strategy/core/variable.h>

namespace lockstep {

class Cluster;

/// Compares all copies of every mirrored variable, of any dtype, bit by bit; skips on_read variables. Throws
/// BrokenInvariant for the first difference, naming variable, replica, element and both values. With `workers`, all
/// workers must call it; it also compares hashes of the workers' copies. All workers then throw the same error, which
/// names the variable and either the worker whose own copies differ or two workers with different copies. A worker that
/// cannot read a copy, e.g. because its device has failed, notifies the others. Call it outside replicas.
void verify_mirrored(std::span<const Variable> variables, Cluster* workers = nullptr);

/// Checks that all replicas pass the same variables in the same order to an optimizer's first step, since gradients are
/// added up by position. by_replica[r] points to the variables of replica r. Throws InvalidArgument for the first
/// difference, naming replica, position, both names and both shapes.
void verify_same_order(std::span<const std::vector<Variable>* const> by_replica);

}  // namespace lockstep
