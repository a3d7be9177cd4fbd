#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <lockstep/kernels/executor/launch.cuh>

EmulatedIndex threadIdx;
EmulatedIndex blockIdx;
EmulatedIndex gridDim;

namespace lockstep {

IndexFault* Gpu::index_fault(const std::string& what) {
  static std::map<std::string, IndexFault> faults;
  return &faults[what];
}

Gpu& current_gpu() {
  static Gpu gpu;
  return gpu;
}

namespace cuda {
namespace {

/// A grid that is too small for large work, so that kernels must loop over the rest, which they rarely do on real GPUs.
constexpr unsigned most_blocks = 5;

}  // namespace

void run_grid(unsigned blocks, const std::function<void()>& thread) {
  static test::Block block(block_threads, threadIdx.x);
  static std::minstd_rand random{1};
  gridDim.x = std::min(blocks, most_blocks);
  std::vector<unsigned> turns;
  for (unsigned turn = 0; turn < gridDim.x; ++turn) turns.push_back(turn);
  std::ranges::shuffle(turns, random);
  for (const unsigned turn : turns) {
    blockIdx.x = turn;
    block.run(thread);
  }
}

}  // namespace cuda
}  // namespace lockstep
