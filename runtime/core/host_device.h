#pragma once

// Marks a function that is compiled for the host and, by nvcc, also for the device.
#if defined(__CUDACC__)
#define LOCKSTEP_HOST_DEVICE __host__ __device__
#else
#define LOCKSTEP_HOST_DEVICE
#endif
