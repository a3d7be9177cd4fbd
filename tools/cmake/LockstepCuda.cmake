# CUDA support: requires all of its parts. Sets LOCKSTEP_HAVE_CUDA.
set(LOCKSTEP_HAVE_CUDA OFF)
if(NOT LOCKSTEP_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  find_package(CUDNN QUIET)
  find_package(NCCL QUIET)
  # Header-only; used to build cuDNN graphs.
  find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${PROJECT_SOURCE_DIR}/build/cudnn-frontend/include)
  mark_as_advanced(CUDNN_FRONTEND_INCLUDE_DIR)
  set(missing)
  foreach(part CUDAToolkit_NVCC_EXECUTABLE CUDNN_FOUND NCCL_FOUND)
    if(NOT ${part})
      list(APPEND missing ${part})
    endif()
  endforeach()
  if(NOT CUDNN_FRONTEND_INCLUDE_DIR)
    list(APPEND missing "the headers of cudnn-frontend (tools/setup fetches them; or set CUDNN_FRONTEND_INCLUDE_DIR)")
  endif()
  if(NOT missing)
    set(LOCKSTEP_HAVE_CUDA ON)
  elseif(LOCKSTEP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LOCKSTEP_CUDA=ON, but not found: ${missing}. Set CUDAToolkit_ROOT or use LOCKSTEP_CUDA=OFF")
  elseif(CUDAToolkit_FOUND)
    message(WARNING "CUDA: a toolkit was found, but not ${missing}. This build uses CPUs only")
  endif()
endif()
message(STATUS "CUDA: ${LOCKSTEP_HAVE_CUDA} (LOCKSTEP_CUDA=${LOCKSTEP_CUDA})")

# CUPTI records the work of GPUs; a toolkit may lack it.
set(LOCKSTEP_HAVE_CUPTI OFF)
if(LOCKSTEP_HAVE_CUDA AND TARGET CUDA::cupti)
  find_path(CUPTI_INCLUDE_DIR cupti_activity.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include
      ${CUDAToolkit_TARGET_DIR}/../../extras/CUPTI/include)
  mark_as_advanced(CUPTI_INCLUDE_DIR)
  if(CUPTI_INCLUDE_DIR)
    set(LOCKSTEP_HAVE_CUPTI ON)
    set(LOCKSTEP_CUPTI_INCLUDE_DIRS ${CUPTI_INCLUDE_DIR} ${CUDAToolkit_INCLUDE_DIRS})
  endif()
endif()
message(STATUS "CUPTI: ${LOCKSTEP_HAVE_CUPTI}")

if(LOCKSTEP_HAVE_CUDA)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  # Cached: a build folder keeps its architectures when it is configured again, with or without CUDAARCHS.
  set(architectures 80 90 100)
  if(DEFINED ENV{CUDAARCHS})
    set(architectures $ENV{CUDAARCHS})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "Compute capabilities to compile for")
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # nvcc's static default would give each shared object its own
  enable_language(CUDA)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc supports C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  # nvcc derives temporary file names from its process id, and symbols from these: without these symbols, builds are
  # reproducible.
  list(APPEND CMAKE_CUDA_COMPILE_OBJECT "${CMAKE_OBJCOPY} --wildcard --strip-symbol=*tmpxft_* <OBJECT>")
endif()
