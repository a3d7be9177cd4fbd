# Libtorch::Libtorch: the part of libtorch for CPUs (torch_cpu, c10), from PyTorch's wheel, an archive of pytorch.org or
# a package of the system, where find_package(Torch) would find it: by Torch_DIR and CMAKE_PREFIX_PATH. Does not include
# its TorchConfig.cmake, which requires CUDA's toolkit and all of CUDA's libraries if libtorch was built for CUDA.
# Sets Libtorch_FOUND, Libtorch_PROBLEM (why not), Libtorch_PREFIX, Libtorch_VERSION and Libtorch_CUDA_VERSION (empty
# if it was built without CUDA).
find_path(Torch_DIR TorchConfig.cmake HINTS ${CMAKE_PREFIX_PATH} ENV CMAKE_PREFIX_PATH PATHS ${CMAKE_SYSTEM_PREFIX_PATH}
  PATH_SUFFIXES share/cmake/Torch Torch torch/share/cmake/Torch
  DOC "The folder of libtorch's TorchConfig.cmake")
set(Libtorch_PROBLEM)
set(Libtorch_VERSION)
set(Libtorch_CUDA_VERSION)
if(NOT Torch_DIR)
  set(Libtorch_PROBLEM "no libtorch was found")
elseif(NOT EXISTS ${Torch_DIR}/TorchConfigVersion.cmake)
  set(Libtorch_PROBLEM "Torch_DIR=${Torch_DIR} has no TorchConfigVersion.cmake")
else()
  file(REAL_PATH ${Torch_DIR}/../../.. Libtorch_PREFIX)
  file(STRINGS ${Torch_DIR}/TorchConfigVersion.cmake version REGEX "PACKAGE_VERSION \"")
  string(REGEX MATCH "[0-9.]+" Libtorch_VERSION "${version}")
  if(Libtorch_VERSION VERSION_LESS Libtorch_FIND_VERSION)
    set(Libtorch_PROBLEM "libtorch ${Libtorch_VERSION} in ${Libtorch_PREFIX} is older than ${Libtorch_FIND_VERSION}")
  elseif(Libtorch_FIND_VERSION_EXACT AND NOT Libtorch_VERSION VERSION_EQUAL Libtorch_FIND_VERSION)
    set(Libtorch_PROBLEM "libtorch in ${Libtorch_PREFIX} is ${Libtorch_VERSION}, not ${Libtorch_FIND_VERSION}")
  endif()
  set(in_prefix PATHS ${Libtorch_PREFIX} NO_DEFAULT_PATH NO_CACHE)
  find_path(Libtorch_INCLUDE_DIR torch/csrc/api/include/torch/torch.h PATH_SUFFIXES include ${in_prefix})
  foreach(library torch_cpu c10)
    find_library(Libtorch_${library} ${library} PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE} ${in_prefix})
  endforeach()
  foreach(part INCLUDE_DIR torch_cpu c10)
    if(NOT Libtorch_${part})
      set(Libtorch_PROBLEM "libtorch in ${Libtorch_PREFIX} has no headers, or no libtorch_cpu or libc10")
    endif()
  endforeach()
endif()

# CUDA's libraries that torch_cpu was linked with, which are beside it or, from wheels, in nvidia/: its own search path
# names these folders.
if(NOT Libtorch_PROBLEM)
  execute_process(COMMAND ${CMAKE_READELF} -d ${Libtorch_torch_cpu} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "lib(cudart|cupti)[^]\n]*" needed "${needed}")
  file(GLOB folders ${Libtorch_PREFIX}/../nvidia/*/lib)
  foreach(library ${needed})
    find_file(Libtorch_${library} ${library} PATHS ${Libtorch_PREFIX}/lib ${folders} NO_DEFAULT_PATH NO_CACHE)
    if(NOT Libtorch_${library})
      set(Libtorch_PROBLEM "${Libtorch_torch_cpu} needs ${library}, which is not there")
    endif()
    if(library MATCHES "libcudart.*[.]so[.]([0-9]+)")
      set(Libtorch_CUDA_VERSION ${CMAKE_MATCH_1})
    endif()
  endforeach()
  if(Libtorch_CUDA_VERSION AND EXISTS ${Libtorch_PREFIX}/version.py)
    file(STRINGS ${Libtorch_PREFIX}/version.py version REGEX "^cuda.*= '")
    string(REGEX MATCH "[0-9]+[.][0-9]+" Libtorch_CUDA_VERSION "${version}")
  endif()
endif()

set(Libtorch_USABLE ON)
if(Libtorch_PROBLEM)
  set(Libtorch_USABLE OFF)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch REQUIRED_VARS Libtorch_USABLE VERSION_VAR Libtorch_VERSION
  REASON_FAILURE_MESSAGE "${Libtorch_PROBLEM}")
if(Libtorch_FOUND AND NOT TARGET Libtorch::Libtorch)
  add_library(Libtorch::c10 SHARED IMPORTED)
  set_target_properties(Libtorch::c10 PROPERTIES IMPORTED_LOCATION ${Libtorch_c10})
  add_library(Libtorch::Libtorch SHARED IMPORTED)
  set_target_properties(Libtorch::Libtorch PROPERTIES
    IMPORTED_LOCATION ${Libtorch_torch_cpu}
    INTERFACE_INCLUDE_DIRECTORIES "${Libtorch_INCLUDE_DIR};${Libtorch_INCLUDE_DIR}/torch/csrc/api/include"
    INTERFACE_LINK_LIBRARIES Libtorch::c10)
  # The wheel has the headers of another fmt than the one that lockstep is linked with, whose headers must come first.
  if(EXISTS ${Libtorch_INCLUDE_DIR}/fmt)
    get_target_property(folder fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lockstep_fmt)
    file(CREATE_LINK ${folder}/fmt ${CMAKE_BINARY_DIR}/lockstep_fmt/fmt SYMBOLIC)
    target_compile_options(Libtorch::Libtorch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-I${CMAKE_BINARY_DIR}/lockstep_fmt>)
  endif()
endif()
