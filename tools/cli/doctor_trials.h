#pragma once

#include <chrono>
#include <vector>

#include "doctor_findings.h"

namespace lockstep::cli {

/// A copy from each of the GPUs to each other one, compared bit by bit. Nothing for fewer than two.
std::vector<Finding> try_copies(const std::vector<LogicalDevice>& gpus);

/// An all-reduce over replicas on these devices, checked and under a time limit.
Finding try_all_reduce(const std::vector<LogicalDevice>& devices, std::chrono::milliseconds limit);

}  // namespace lockstep::cli
