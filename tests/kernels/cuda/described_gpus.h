#pragma once

#include <vector>

#include <fmt/format.h>

#include <lockstep/kernels/cuda/planned_gpu.h>

// Descriptions of GPUs, with NVIDIA's published figures, for planning on machines without a GPU.

namespace lockstep::test {

/// Properties in which GPUs of compute capability 8.0 and above differ.
struct GpuFigures {
  const char* name;
  int compute_capability;
  int multiprocessors;
  int shared_memory_per_block;  ///< bytes
  std::int64_t memory;          ///< bytes
  int l2_cache;                 ///< bytes
  int clock_khz;
  int memory_clock_khz;
};

/// The description in cuDNN's format of device properties.
inline cudnn::DescribedGpu described(const GpuFigures& gpu) {
  return {fmt::format(R"({{"cudaDeviceId":0,"deviceName":"{}","deviceVer":{},"driverVer":13000,)"
                      R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
                      R"("multiProcessorCount":{},"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
                      R"("maxSharedMemoryPerBlockOptin":{},"reservedSharedMemoryPerBlock":1024,)"
                      R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
                      R"("pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":{},)"
                      R"("smClockRateKHz":{},"memClockRateKHz":{},"l2CacheSize":{}}})",
                      gpu.name, gpu.compute_capability * 10, gpu.multiprocessors, gpu.shared_memory_per_block,
                      gpu.memory, gpu.clock_khz, gpu.memory_clock_khz, gpu.l2_cache),
          gpu.compute_capability};
}

inline const std::vector<GpuFigures>& gpu_figures() {
  static const std::vector<GpuFigures> gpus{
      {"NVIDIA A100-SXM4-80GB", 80, 108, 166'912, 85'028'765'696, 41'943'040, 1'410'000, 1'593'000},
      {"NVIDIA H100 80GB HBM3", 90, 132, 232'448, 85'028'765'696, 52'428'800, 1'980'000, 2'619'000},
      {"NVIDIA B200", 100, 148, 232'448, 191'514'345'472, 132'644'864, 1'965'000, 3'996'000}};
  return gpus;
}

}  // namespace lockstep::test
