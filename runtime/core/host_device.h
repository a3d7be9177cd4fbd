#pragma once

// Functions marked so are compiled for the host and, by nvcc, for the device too.
#if defined(__CUDACC__)
#define LOCKSTEP_HOST_DEVICE __host__ __device__
#else
#define LOCKSTEP_HOST_DEVICE
#endif
