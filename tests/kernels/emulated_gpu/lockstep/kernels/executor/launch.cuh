#pragma once

#include <functional>
#include <string>

#include <kernels/emulated_gpu/blocks.h>

// Replaces kernels/executor/launch.cuh: launches run on the calling host thread, with memory that it can access.

#define __global__
#define __launch_bounds__(...)
/// Static, since only one block runs at a time.
#define __shared__ static

/// Replaces CUDA's built-in index variables of a kernel.
struct EmulatedIndex {
  unsigned x = 0;
};
extern EmulatedIndex threadIdx;
extern EmulatedIndex blockIdx;
extern EmulatedIndex gridDim;

namespace lockstep {

/// Where kernels report an index that is outside its range.
struct IndexFault {
  static constexpr unsigned long long none = ~0ULL;
  unsigned long long first = none;
};

class Gpu {
 public:
  IndexFault* index_fault(const std::string& what);
};

Gpu& current_gpu();

namespace cuda {

constexpr int block_threads = 256;

/// Runs thread() for each thread of a grid. Throws like Block::run.
void run_grid(unsigned blocks, const std::function<void()>& thread);

template <class... Parameters, class... Arguments>
void launch(const Gpu&, void (*kernel)(Parameters...), unsigned blocks, const Arguments&... arguments) {
  run_grid(blocks, [&] { kernel(arguments...); });
}

template <class... Parameters>
int resident_blocks(const Gpu&, void (*)(Parameters...)) {
  return 24;
}

inline void block_barrier() { test::Block::current().wait_for_block(); }

inline void warp_barrier() { test::Block::current().wait_for_warp(); }

inline void lower_to(unsigned long long* place, unsigned long long value) {
  if (value < *place) *place = value;
}

}  // namespace cuda
}  // namespace lockstep
