#pragma once

#include <chrono>
#include <vector>

#include "doctor_findings.h"

namespace lockstep::cli {

/// Copies a tensor from each GPU to every other and compares the copies bit by bit. Returns a finding of Level::broken
/// for each pair whose copy fails or differs, or a single finding of Level::fine if all copies are equal. Returns no
/// findings for fewer than two GPUs.
std::vector<Finding> try_copies(const std::vector<LogicalDevice>& gpus);

/// Runs an all-reduce over replicas on these devices with a time limit, and checks the result. Errors and timeouts are
/// findings; nothing is thrown.
Finding try_all_reduce(const std::vector<LogicalDevice>& devices, std::chrono::milliseconds limit);

}  // namespace lockstep::cli
