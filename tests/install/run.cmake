# Installs BUILD_DIR into a fresh prefix under WORK_DIR, then configures, builds and runs the programs beside this file
# against it.
# cmake -D BUILD_DIR=... -D WORK_DIR=... -D README=... -D EXAMPLE=... -D CONFIG=... -D CXX=...
#   -D LIBTORCH=ON -D TORCH_DIR=... -P run.cmake
set(prefix ${WORK_DIR}/prefix)
set(outside ${WORK_DIR}/build)
file(REMOVE_RECURSE ${WORK_DIR})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(READ ${README} readme)
if(NOT readme MATCHES "\n```cpp\n([^`]+)```\n")
  message(FATAL_ERROR "${README} has no C++ program")
endif()
file(WRITE ${WORK_DIR}/readme.cpp "${CMAKE_MATCH_1}")

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${outside} -D CMAKE_PREFIX_PATH=${prefix}
  -D CMAKE_BUILD_TYPE=${CONFIG} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON
  -D README_PROGRAM=${WORK_DIR}/readme.cpp)
run(${CMAKE_COMMAND} --build ${outside})
run(${outside}/outside)

run(${CMAKE_COMMAND} -G Ninja -S ${EXAMPLE} -B ${WORK_DIR}/example -D CMAKE_PREFIX_PATH=${prefix}
  -D CMAKE_BUILD_TYPE=${CONFIG} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/example)
execute_process(COMMAND ${WORK_DIR}/example/train ${WORK_DIR}/model.keras OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "= (2|1\\.99|2\\.00)")
  message(FATAL_ERROR "the example predicts ${said}, not 2")
endif()

# The component libtorch, which LIBTORCH=ON builds have, found together with the libtorch of TORCH_DIR.
set(configure_libtorch ${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/libtorch -D CMAKE_PREFIX_PATH=${prefix}
  -D CMAKE_BUILD_TYPE=${CONFIG} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON)
function(expect_no_libtorch reason)
  execute_process(COMMAND ${configure_libtorch} -B ${WORK_DIR}/no_libtorch ${ARGN} RESULT_VARIABLE result
    ERROR_VARIABLE said OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(result EQUAL 0 OR NOT said MATCHES "${reason}")
    message(FATAL_ERROR "configuring without the component libtorch ended with ${result}, not with '${reason}': ${said}")
  endif()
endfunction()
if(LIBTORCH)
  run(${configure_libtorch} -B ${WORK_DIR}/libtorch -D Torch_DIR=${TORCH_DIR})
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/libtorch)
  run(${WORK_DIR}/libtorch/outside_libtorch)
  expect_no_libtorch("Its component libtorch needs libtorch [0-9.]+, but Torch_DIR=/nowhere has no" -D Torch_DIR=/nowhere)
else()
  expect_no_libtorch("built without its component libtorch: build it with LOCKSTEP_LIBTORCH=ON")
endif()
