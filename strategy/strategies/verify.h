#pragma once

#include <span>
#include <vector>

#include <lockstep/strategy/core/variable.h>

namespace lockstep {

class Cluster;

/// Compares all copies of every mirrored variable, of any dtype, bit by bit; skips on_read variables. Throws
/// BrokenInvariant for the first difference, naming variable, replica, element and both values. With `workers`, also
/// compares hashes of the workers' copies; all workers must call it and throw the same error, which names the variable
/// and the worker whose copies differ or the two workers that differ. If a worker cannot read a copy, because its
/// device has failed, it notifies the others. Call it outside replicas.
void verify_mirrored(std::span<const Variable> variables, Cluster* workers = nullptr);

/// Checks that all replicas pass the same variables, in the same order, to an optimizer's first step, since gradients
/// are added up by position. `by_replica` has their variables, in replica order. Throws InvalidArgument for the first
/// difference, naming replica, position, both names and both shapes.
void verify_same_order(std::span<const std::vector<Variable>* const> by_replica);

}  // namespace lockstep
