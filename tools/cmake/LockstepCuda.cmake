# CUDA: all of its parts or none. Sets LOCKSTEP_HAVE_CUDA, and LOCKSTEP_CUDNN_API to the one that convolutions use, graphs
# or classic.
set(LOCKSTEP_HAVE_CUDA OFF)
if(NOT LOCKSTEP_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  find_package(CUDNN QUIET)
  find_package(NCCL QUIET)
  # Headers alone, which graphs of cuDNN's are asked for with; tools/setup takes them from PyPI where there is a toolkit.
  find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${PROJECT_SOURCE_DIR}/build/cudnn-frontend/include)
  mark_as_advanced(CUDNN_FRONTEND_INCLUDE_DIR)
  set(missing)
  foreach(part CUDAToolkit_NVCC_EXECUTABLE CUDNN_FOUND NCCL_FOUND)
    if(NOT ${part})
      list(APPEND missing ${part})
    endif()
  endforeach()
  if(NOT missing)
    set(LOCKSTEP_HAVE_CUDA ON)
  elseif(LOCKSTEP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LOCKSTEP_CUDA=ON, but not found: ${missing}. Set CUDAToolkit_ROOT or use LOCKSTEP_CUDA=OFF")
  elseif(CUDAToolkit_FOUND)
    message(STATUS "CUDA: a toolkit was found, but not ${missing}")
  endif()
endif()
message(STATUS "CUDA: ${LOCKSTEP_HAVE_CUDA} (LOCKSTEP_CUDA=${LOCKSTEP_CUDA})")

# CUPTI, which records what GPUs do; the toolkit may be without it.
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
  if(CUDNN_FRONTEND_INCLUDE_DIR)
    set(LOCKSTEP_CUDNN_API graphs)
    message(STATUS "CUDA: convolutions are graphs of cuDNN's")
  else()
    set(LOCKSTEP_CUDNN_API classic)
    message(STATUS "CUDA: convolutions are by cuDNN's classic functions, which copy x where its padding is uneven; with "
      "cudnn-frontend (tools/setup) they are graphs")
  endif()
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # one for all of a process, as nvcc's default would not be for a shared object
  enable_language(CUDA)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  # nvcc names its temporary files after its process, and symbols after them: without those two builds have the same bytes.
  list(APPEND CMAKE_CUDA_COMPILE_OBJECT "${CMAKE_OBJCOPY} --wildcard --strip-symbol=*tmpxft_* <OBJECT>")
endif()
