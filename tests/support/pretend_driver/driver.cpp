// What cuDNN needs of NVIDIA's driver to make plans whose kernels it compiles itself, on a machine without a driver:
// the functions that load compiled kernels. Nothing can run; all other functions that cuDNN looks for fail.

extern "C" {

int cuLibraryLoadData(void** library) {
  static int loaded;
  *library = &loaded;
  return 0;
}

int cuLibraryGetKernel(void** kernel) {
  static int found;
  *kernel = &found;
  return 0;
}

int cuLibraryUnload() { return 0; }
int cuKernelSetAttribute() { return 0; }

#define FAILS(function) \
  int function() { return 100; }  // CUDA_ERROR_NO_DEVICE

FAILS(cuInit)
FAILS(cuCtxGetCurrent)
FAILS(cuCtxGetLimit)
FAILS(cuCtxPopCurrent)
FAILS(cuCtxPushCurrent)
FAILS(cuDeviceGet)
FAILS(cuDeviceGetCount)
FAILS(cuDriverGetVersion)
FAILS(cuGetErrorName)
FAILS(cuGetErrorString)
FAILS(cuKernelGetAttribute)
FAILS(cuLaunchCooperativeKernel)
FAILS(cuLaunchKernel)
FAILS(cuLaunchKernelEx)
FAILS(cuLibraryLoadFromFile)
FAILS(cuLinkAddData)
FAILS(cuLinkComplete)
FAILS(cuLinkCreate)
FAILS(cuLinkDestroy)
FAILS(cuOccupancyMaxPotentialClusterSize)
FAILS(cuStreamGetCtx)

}  // extern "C"
