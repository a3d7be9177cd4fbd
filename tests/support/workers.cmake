# How tests start several processes that train together. They may be more than there are cores, and run as root.
set(LOCKSTEP_MPIRUN ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none --tag-output)
set(LOCKSTEP_MPIRUN_ENVIRONMENT
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # Containers forbid a process to read another one's memory: messages are copied twice.
  OMPI_MCA_btl_vader_single_copy_mechanism=none
  # A waiting process leaves the core to the one it waits for: in MPI, and in oneDNN's teams of threads.
  OMPI_MCA_mpi_yield_when_idle=1
  OMP_WAIT_POLICY=passive)
if(LOCKSTEP_SANITIZE STREQUAL "thread")
  set(LOCKSTEP_MPI_ACCESSES lockstep_test_mpi_accesses)
endif()
if(LOCKSTEP_SANITIZE MATCHES address)
  set(LOCKSTEP_LEAK_CHECK ${PROJECT_SOURCE_DIR}/tests/support/leak_check.cpp)
  # MPI is not built so that the sanitizer sees its callers the fast way.
  set(LOCKSTEP_LEAK_CHECK_ENVIRONMENT ASAN_OPTIONS=fast_unwind_on_malloc=0
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp)
endif()

# workers_test_program(NAME SOURCES ... LINKS ... LABEL ...): a GoogleTest program whose tests several processes run
# together, built by target tests_LABEL.
function(workers_test_program name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${LOCKSTEP_LEAK_CHECK})
  lockstep_test_code(${name})
  target_link_libraries(${name} PRIVATE lockstep_build_flags ${ARG_LINKS} lockstep_test_main lockstep_test_devices
    ${LOCKSTEP_MPI_ACCESSES})
  set_target_properties(${name} PROPERTIES LABELS ${ARG_LABEL})
  add_dependencies(tests_${ARG_LABEL} ${name})
endfunction()

# workers_test(PROGRAM WORKERS REPLICAS): the program on that many workers with that many replicas each; every worker
# runs all tests in the same order.
function(workers_test program workers replicas)
  set(name workers.${program}.${workers}x${replicas})
  get_target_property(label ${program} LABELS)
  add_test(NAME ${name}
    COMMAND ${LOCKSTEP_MPIRUN} -np ${workers} $<TARGET_FILE:${program}> --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "workers;${label}" TIMEOUT 300 PROCESSORS 2
    ENVIRONMENT "${LOCKSTEP_MPIRUN_ENVIRONMENT};${LOCKSTEP_LEAK_CHECK_ENVIRONMENT};LOCKSTEP_TEST_LIMIT_S=120;LOCKSTEP_TEST_REPLICAS=${replicas}")
endfunction()

# workers_test_on_pretended_gpus(PROGRAM WORKERS LINKS): the program on that many workers whose test devices are
# simulated GPUs of one worker; NCCL does not connect them across workers.
function(workers_test_on_pretended_gpus program workers links)
  lockstep_on_devices(${program} "${links}")
  set(name workers.pretend_cuda.${program})
  get_target_property(label ${program} LABELS)
  add_test(NAME ${name} COMMAND ${LOCKSTEP_MPIRUN} -np ${workers} $<TARGET_FILE:${program}> --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "workers;pretended;${label}" TIMEOUT 300 PROCESSORS 2
    ENVIRONMENT "${LOCKSTEP_MPIRUN_ENVIRONMENT};${LOCKSTEP_LEAK_CHECK_ENVIRONMENT};LOCKSTEP_TEST_LIMIT_S=120;LOCKSTEP_TEST_DEVICES=pretend_cuda;${LOCKSTEP_WITH_PRETENDED_CUDA}")
endfunction()
