# cmake --install: the CMake package `lockstep` (libraries, headers, lockstepConfig.cmake).
include(CMakePackageConfigHelpers)

# The only target that users need.
add_library(lockstep INTERFACE)
add_library(lockstep::lockstep ALIAS lockstep)

foreach(folder ${LOCKSTEP_FOLDERS})
  target_link_libraries(lockstep INTERFACE lockstep_${folder})
  install(TARGETS lockstep_${folder} EXPORT lockstepTargets)
endforeach()
install(TARGETS lockstep EXPORT lockstepTargets)
if(LOCKSTEP_HAVE_LIBTORCH)  # a component of its own: find_package(lockstep COMPONENTS libtorch)
  install(TARGETS lockstep_libtorch EXPORT lockstepLibtorchTargets)
endif()

# One by one: installing whole folders would also create those without headers.
foreach(header ${LOCKSTEP_HEADERS})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep/${folder})
endforeach()
if(LOCKSTEP_HAVE_CUDA)  # for functors that nvcc compiles with a program (kernels/update/element_rule.h)
  file(GLOB device_headers CONFIGURE_DEPENDS kernels/executor/*.cuh)
  install(FILES ${device_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep/kernels/executor)
endif()
install(FILES models/lockstep.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
install(EXPORT lockstepTargets NAMESPACE lockstep:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lockstepConfig.cmake.in ${PROJECT_BINARY_DIR}/lockstepConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lockstepConfig.cmake ${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake
  DESTINATION ${package_dir})
if(LOCKSTEP_HAVE_LIBTORCH)
  install(EXPORT lockstepLibtorchTargets NAMESPACE lockstep:: DESTINATION ${package_dir})
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/FindLibtorch.cmake DESTINATION ${package_dir})
endif()
if(LOCKSTEP_HAVE_CUDA)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/FindCUDNN.cmake ${CMAKE_CURRENT_LIST_DIR}/FindNCCL.cmake
    DESTINATION ${package_dir})
endif()
