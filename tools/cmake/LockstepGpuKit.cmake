# Target gpu_kit builds the programs that tools/gpu-kit packs; gpu_kit.json in the build folder has their paths.
if(NOT LOCKSTEP_HAVE_CUDA OR NOT TARGET tests_gpu OR NOT LOCKSTEP_BENCH)
  return()
endif()
set(programs lockstep_cli collectives_bench gpu_smoke)
set(libraries)
if(TARGET lockstep_timeline)  # where the toolkit has CUPTI
  list(APPEND libraries lockstep_timeline)
endif()
add_custom_target(gpu_kit DEPENDS ${programs} ${libraries} tests_gpu)

list(TRANSFORM programs REPLACE "(.+)" "\"$<TARGET_FILE:\\1>\"")
list(TRANSFORM libraries REPLACE "(.+)" "\"$<TARGET_FILE:\\1>\"")
get_property(data GLOBAL PROPERTY LOCKSTEP_GPU_TESTS_DATA)
list(TRANSFORM data REPLACE "(.+)" "\"\\1\"")
list(JOIN programs ", " programs)
list(JOIN libraries ", " libraries)
list(JOIN data ", " data)
list(JOIN CMAKE_CUDA_ARCHITECTURES ", " architectures)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/gpu_kit.json CONTENT "{
  \"version\": \"${PROJECT_VERSION}\", \"architectures\": \"${architectures}\", \"build_type\": \"${CMAKE_BUILD_TYPE}\",
  \"programs\": [${programs}], \"libraries\": [${libraries}], \"data\": [${data}]}
")
