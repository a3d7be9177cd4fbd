# libtorch for CPUs: that of tools/setup --torch, of Torch_ROOT, or of CMAKE_PREFIX_PATH. Defines Libtorch::Libtorch.
# TorchConfig.cmake is not used: that of PyPI's wheel requires a CUDA toolkit and all of the wheel's CUDA libraries, which
# programs on CPUs do not need.
set(hints ${Torch_ROOT} $ENV{Torch_ROOT} ${CMAKE_CURRENT_LIST_DIR}/../../build/libtorch/torch)
find_path(LIBTORCH_INCLUDE_DIR torch/csrc/api/include/torch/torch.h HINTS ${hints} PATH_SUFFIXES include)
find_library(LIBTORCH_CPU_LIBRARY torch_cpu HINTS ${hints} PATH_SUFFIXES lib)
find_library(LIBTORCH_C10_LIBRARY c10 HINTS ${hints} PATH_SUFFIXES lib)
mark_as_advanced(LIBTORCH_INCLUDE_DIR LIBTORCH_CPU_LIBRARY LIBTORCH_C10_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch REQUIRED_VARS LIBTORCH_CPU_LIBRARY LIBTORCH_C10_LIBRARY LIBTORCH_INCLUDE_DIR)

if(Libtorch_FOUND AND NOT TARGET Libtorch::Libtorch)
  # libtorch's folder of headers has a later version of fmt, which would hide the one that lockstep is linked with.
  find_package(fmt REQUIRED)
  get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  set(fmt_first ${CMAKE_BINARY_DIR}/CMakeFiles/libtorch_fmt)
  file(MAKE_DIRECTORY ${fmt_first})
  file(CREATE_LINK ${fmt_include}/fmt ${fmt_first}/fmt SYMBOLIC)

  add_library(Libtorch::Libtorch INTERFACE IMPORTED)
  target_include_directories(Libtorch::Libtorch INTERFACE
    ${fmt_first} ${LIBTORCH_INCLUDE_DIR} ${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include)
  # -rpath-link: for the libraries that libtorch itself needs.
  cmake_path(GET LIBTORCH_CPU_LIBRARY PARENT_PATH folder)
  target_link_libraries(Libtorch::Libtorch INTERFACE ${LIBTORCH_CPU_LIBRARY} ${LIBTORCH_C10_LIBRARY}
    -Wl,-rpath-link,${folder}/../../nvidia/cu13/lib)
endif()
