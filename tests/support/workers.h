#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/strategies/multi_worker_mirrored_strategy.h>

// For test programs that mpirun starts as several processes (support/workers.cmake). Each of these workers runs every
// test, in the same order.

namespace lockstep::test {

/// The number of replicas on each worker.
inline int replicas_on_each() {
  const char* const text = std::getenv("LOCKSTEP_TEST_REPLICAS");
  return text ? std::atoi(text) : 1;
}

/// A strategy of all workers. In a program started without mpirun there are no other workers, and the tests fail.
inline MultiWorkerMirroredStrategy workers(std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  return MultiWorkerMirroredStrategy(logical_cpus(replicas_on_each()), {.timeout = timeout});
}

}  // namespace lockstep::test
