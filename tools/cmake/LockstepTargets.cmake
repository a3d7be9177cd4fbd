# lockstep_library(NAME SOURCES ... LINKS ... PRIVATE_LINKS ... PRECOMPILED ...): the library of one folder, with the
# project's warnings and include path. An archive, or with BUILD_SHARED_LIBS a shared object.

# The folders of the library, from left to right.
set(LOCKSTEP_FOLDERS runtime kernels strategy models)
list(TRANSFORM LOCKSTEP_FOLDERS APPEND "/*.h" OUTPUT_VARIABLE patterns)
file(GLOB_RECURSE LOCKSTEP_HEADERS CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${patterns})
if(NOT LOCKSTEP_HAVE_LIBTORCH)
  list(FILTER LOCKSTEP_HEADERS EXCLUDE REGEX "^models/libtorch/")
endif()

# Sources include <lockstep/runtime/tensor/tensor.h>, both in the build tree and after installation.
set(LOCKSTEP_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${LOCKSTEP_INCLUDE_DIR}/lockstep)
foreach(folder ${LOCKSTEP_FOLDERS})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${LOCKSTEP_INCLUDE_DIR}/lockstep/${folder} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/models/lockstep.h ${LOCKSTEP_INCLUDE_DIR}/lockstep/lockstep.h SYMBOLIC)

if(BUILD_SHARED_LIBS)
  set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()

# Where tools/setup has installed lld, it links the programs in a fifth of the time of GNU ld.
find_program(LOCKSTEP_LLD NAMES ld.lld-16 ld.lld-19)
if(LOCKSTEP_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  file(REAL_PATH ${LOCKSTEP_LLD} lld)
  cmake_path(GET lld PARENT_PATH folder)
  add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=lld> $<$<LINK_LANGUAGE:CXX>:-B${folder}>)
endif()

add_library(lockstep_build_flags INTERFACE)
target_compile_options(lockstep_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>
  # g++ 14 gives false warnings of this kind about a member of an object whose constructor throws.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>
  # The heap, in kB, up to which g++ does not collect garbage, which otherwise takes 10 % of the time for tests.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=524288>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${LOCKSTEP_WERROR}>>:-Werror>
  # Disables FMA contraction of a*b+c, so that results do not differ between builds.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${LOCKSTEP_NATIVE}>>:-march=native>
  # Paths in messages are relative to the project, and the build folder does not change the object code.
  $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=;-fmacro-prefix-map=${LOCKSTEP_INCLUDE_DIR}/lockstep/=>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=,-fmacro-prefix-map=${LOCKSTEP_INCLUDE_DIR}/lockstep/=>
  # The same for CUDA. Without the macro, fmt 9 under nvcc does not check format strings and rejects them.
  $<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;-Xcompiler=-Wall,-Wextra;-DFMT_USE_CONSTEXPR=1;--fmad=false>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${LOCKSTEP_WERROR}>>:SHELL:-Werror all-warnings>)
if(LOCKSTEP_SANITIZE)
  target_compile_options(lockstep_build_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined
    # These checks take a third of the compile time. The address sanitizer finds what the first three find; the
    # processors allow unaligned access.
    -fno-sanitize=null,object-size,vptr,alignment
    # GoogleTest's assertions take twice as long to compile with it, and only the tests' own code would be checked.
    $<$<BOOL:$<TARGET_PROPERTY:LOCKSTEP_TEST>>:-fno-sanitize=undefined>)
  target_link_options(lockstep_build_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
endif()

# Compiles the sources of a folder of `target` together, up to eight at a time, in half the time: names in unnamed
# namespaces must be unique in their folder. Sources with compile options of their own stay alone.
function(lockstep_compile_together target)
  if(LOCKSTEP_UNITY)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL lockstep_group_sources ${target})")
  endif()
endfunction()

function(lockstep_group_sources target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cpp$")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE folder)
    cmake_path(GET folder PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND in_${folder} ${source})
    list(LENGTH in_${folder} count)
    math(EXPR group "(${count} - 1) / 8")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(lockstep_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS;PRECOMPILED" ${ARGN})
  add_library(lockstep_${name} ${ARG_SOURCES})
  add_library(lockstep::${name} ALIAS lockstep_${name})
  # The same object code for archives and shared objects.
  set_target_properties(lockstep_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON DEFINE_SYMBOL "")
  target_compile_features(lockstep_${name} PUBLIC cxx_std_20)
  target_include_directories(lockstep_${name} PUBLIC
    $<BUILD_INTERFACE:${LOCKSTEP_INCLUDE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # libFuzzer's coverage, only in the libraries that read input: it would slow down the kernels to no purpose.
  if(LOCKSTEP_FUZZ AND name MATCHES "^(runtime|models)$")
    target_compile_options(lockstep_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  # Under sanitizers, optimizing the code around the kernels takes longer than it saves.
  if(LOCKSTEP_SANITIZE AND name STREQUAL "models")
    target_compile_options(lockstep_models PRIVATE -O0)
  endif()
  if(LOCKSTEP_PCH AND ARG_PRECOMPILED)
    target_precompile_headers(lockstep_${name} PRIVATE ${ARG_PRECOMPILED})
  endif()
  lockstep_compile_together(lockstep_${name})
  target_link_libraries(lockstep_${name} PUBLIC ${ARG_LINKS} PRIVATE $<BUILD_INTERFACE:lockstep_build_flags> ${ARG_PRIVATE_LINKS})
endfunction()

# How the code of a program that computes in the libraries is compiled. More optimization of CLI11's and nlohmann's
# functions takes the compiler longer than it saves, as does instrumenting them.
function(lockstep_program_code target)
  if(LOCKSTEP_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    # At -O1, g++ 12 gives false warnings about its own strings (its bugs 105329, 105651).
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:$<$<CONFIG:Release>:-O1>>
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-restrict>)
  endif()
endfunction()

# How test code is compiled. Most of it runs once, and optimizing it takes longer than running it. Folders whose tests
# compute much set LOCKSTEP_TEST_OPTIMIZATION, and LOCKSTEP_TEST_HEADERS to a target with headers for this level.
set(LOCKSTEP_TEST_OPTIMIZATION -O0)
set(LOCKSTEP_TEST_HEADERS lockstep_test_main)
function(lockstep_test_code target)
  lockstep_compile_together(${target})
  set_target_properties(${target} PROPERTIES LOCKSTEP_TEST ON)
  target_compile_options(${target} PRIVATE
    $<$<CONFIG:Release,RelWithDebInfo>:${LOCKSTEP_TEST_OPTIMIZATION}>
    # At -O1, g++ 12 gives false warnings about its own strings (its bugs 105329, 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict>)
endfunction()

# Precompiles for `target` the headers that most tests include.
function(lockstep_test_headers target)
  if(LOCKSTEP_PCH)
    target_precompile_headers(${target} PRIVATE
      <fmt/ranges.h> <gmock/gmock.h> <gtest/gtest.h> <lockstep/runtime/data/dataset.h>
      <lockstep/strategy/core/replica_context.h> <lockstep/strategy/strategies/mirrored_strategy.h>)
  endif()
endfunction()

# libtorch's headers take longer to parse than any program that uses them: those of lockstep::libtorch, with its
# -fPIC. They are not for -O0, and from g++ 13 on not for -O1 either. To be called after what sets another level.
function(lockstep_libtorch_headers target)
  if(LOCKSTEP_PCH)
    target_precompile_headers(${target} REUSE_FROM lockstep_libtorch)
    set(no_o1 $<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>)
    target_compile_options(${target} PRIVATE -fPIC $<$<AND:$<CONFIG:Release>,${no_o1}>:-O2>)
  endif()
endfunction()

# Makes the target tests_gpu build the program, too.
function(lockstep_build_with_gpu_tests name)
  if(NOT TARGET tests_gpu)
    add_custom_target(tests_gpu)
  endif()
  add_dependencies(tests_gpu ${name})
endfunction()

# Environment in which a program loads the pretended CUDA instead of the toolkit's. Builds without CUDA link it instead.
set(LOCKSTEP_WITH_PRETENDED_CUDA)
if(LOCKSTEP_HAVE_CUDA)
  set(LOCKSTEP_WITH_PRETENDED_CUDA "LD_PRELOAD=$<TARGET_FILE:lockstep_pretend_cuda>")
endif()

# Adds to a test program, which links the libraries LINKS, what it needs for real and pretended GPUs.
function(lockstep_on_devices name links)
  target_link_libraries(${name} PRIVATE lockstep_test_devices)
  add_dependencies(${name} lockstep_pretend_cuda)
  if(NOT LOCKSTEP_HAVE_CUDA AND links MATCHES "strategy|models|commands")
    target_link_libraries(${name} PRIVATE lockstep_test_communicators)
  endif()
endfunction()

# lockstep_test(NAME SOURCES ... LINKS ... LABELS ...): one GoogleTest program, which is one ctest test, because
# starting it takes longer than most of its cases. Target tests_LABEL builds all programs of a label.
# DEVICES: the tests take their replicas' devices from support/devices.h. The program is then two more ctest tests:
# gpu.NAME (label gpu) on GPUs, skipped without one, and pretend_cuda.NAME (label pretended) on GPUs of the pretended
# CUDA.
# NOT_ON_GPUS: GoogleTest patterns of tests that both leave out. NOT_PRETENDED: patterns of tests that are too slow on
# pretended GPUs, whose kernels run element by element; * leaves out all of them.
# ON_DEVICE: like DEVICES, and each test runs in the context of the first device, so that its ops make tensors and
# compute there.
# DATA: a folder beside the sources that the tests find beside their program, also when it is carried to another
# machine.
function(lockstep_test name)
  cmake_parse_arguments(ARG "DEVICES;ON_DEVICE" "TIMEOUT;DATA" "SOURCES;LINKS;LABELS;NOT_ON_GPUS;NOT_PRETENDED" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  lockstep_test_code(${name})
  target_link_libraries(${name} PRIVATE lockstep_build_flags ${ARG_LINKS} lockstep_test_main)
  if("Libtorch::Libtorch" IN_LIST ARG_LINKS)
    lockstep_libtorch_headers(${name})
  elseif(LOCKSTEP_PCH)
    target_precompile_headers(${name} REUSE_FROM ${LOCKSTEP_TEST_HEADERS})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  foreach(label ${ARG_LABELS})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
  # The program's own watchdog ends it before ctest does, and reports what hangs (tests/support/main.cpp).
  math(EXPR limit_s "${ARG_TIMEOUT} * 9 / 10")
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 1800 ENVIRONMENT LOCKSTEP_TEST_LIMIT_S=${limit_s})
  if(ARG_DATA)
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DATA} ${CMAKE_CURRENT_BINARY_DIR}/${ARG_DATA} SYMBOLIC)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_GPU_TESTS_DATA ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DATA})
  endif()
  if(ARG_DEVICES OR ARG_ON_DEVICE)
    lockstep_on_devices(${name} "${ARG_LINKS}")
  endif()
  if((ARG_DEVICES OR ARG_ON_DEVICE) AND NOT LOCKSTEP_SANITIZE)
    lockstep_build_with_gpu_tests(${name})
    foreach(devices gpu pretend_cuda)
      set(left_out ${ARG_NOT_ON_GPUS})
      set(label gpu)
      if(NOT devices STREQUAL gpu)
        set(label pretended)
        if(ARG_NOT_PRETENDED STREQUAL "*")
          continue()
        endif()
        list(APPEND left_out ${ARG_NOT_PRETENDED})
      endif()
      list(JOIN left_out ":" filter)
      set(environment "LOCKSTEP_TEST_DEVICES=${devices};LOCKSTEP_TEST_ON_DEVICE=${ARG_ON_DEVICE};LOCKSTEP_TEST_LIMIT_S=${limit_s}")
      if(devices STREQUAL pretend_cuda)
        list(APPEND environment ${LOCKSTEP_WITH_PRETENDED_CUDA})
      endif()
      add_test(NAME ${devices}.${name} COMMAND ${name} --gtest_brief=1 --gtest_filter=-${filter})
      set_tests_properties(${devices}.${name} PROPERTIES LABELS ${label} TIMEOUT 900
        SKIP_REGULAR_EXPRESSION "no GPU: every test is skipped"
        ENVIRONMENT "${environment}")
    endforeach()
  endif()
endfunction()

# lockstep_pretend_cuda_test(NAME SOURCES ... LINKS ... LABELS ...): a GoogleTest program for GPUs only. It is one ctest
# test, pretend_cuda.NAME, with GPUS (3, or 8) pretended GPUs. GPU: also gpu.NAME, on real GPUs, skipped without one,
# without the tests that match NOT_ON_GPUS.
function(lockstep_pretend_cuda_test name)
  cmake_parse_arguments(ARG "GPU" "GPUS" "SOURCES;LINKS;LABELS;NOT_ON_GPUS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  lockstep_test_code(${name})
  target_link_libraries(${name} PRIVATE lockstep_build_flags ${ARG_LINKS} lockstep_test_support lockstep_test_main)
  lockstep_on_devices(${name} "${ARG_LINKS}")
  if(LOCKSTEP_PCH)
    target_precompile_headers(${name} REUSE_FROM ${LOCKSTEP_TEST_HEADERS})
  endif()
  foreach(label ${ARG_LABELS})
    add_dependencies(tests_${label} ${name})
  endforeach()
  set(devices pretend_cuda)
  if(ARG_GPUS EQUAL 8)
    set(devices pretend_cuda_8)
  endif()
  add_test(NAME pretend_cuda.${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(pretend_cuda.${name} PROPERTIES LABELS "pretended;${ARG_LABELS}" TIMEOUT 600
    ENVIRONMENT "LOCKSTEP_TEST_DEVICES=${devices};LOCKSTEP_TEST_LIMIT_S=540;${LOCKSTEP_WITH_PRETENDED_CUDA}")
  if(ARG_GPU AND NOT LOCKSTEP_SANITIZE)
    lockstep_build_with_gpu_tests(${name})
    list(JOIN ARG_NOT_ON_GPUS ":" filter)
    add_test(NAME gpu.${name} COMMAND ${name} --gtest_brief=1 --gtest_filter=-${filter})
    set_tests_properties(gpu.${name} PROPERTIES LABELS gpu TIMEOUT 900
      SKIP_REGULAR_EXPRESSION "no GPU: every test is skipped"
      ENVIRONMENT "LOCKSTEP_TEST_DEVICES=gpu;LOCKSTEP_TEST_LIMIT_S=270")
  endif()
endfunction()
