# Targets check-format and check-tidy: check the project's code with clang-format and clang-tidy.
add_custom_target(check-format VERBATIM USES_TERMINAL
  COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tools/lint/check_format.py ${PROJECT_SOURCE_DIR})

list(JOIN LOCKSTEP_FOLDERS "|" folders)
if(LOCKSTEP_UNITY)  # clang-tidy does not find the sources in such a build
  add_custom_target(check-tidy VERBATIM
    COMMAND ${CMAKE_COMMAND} -E echo "check-tidy needs a build with LOCKSTEP_UNITY=OFF, as the preset debug has"
    COMMAND ${CMAKE_COMMAND} -E false)
  return()
endif()
add_custom_target(check-tidy VERBATIM USES_TERMINAL
  COMMENT "clang-tidy 19 over the sources of this build (tools/setup --lint installs it)"
  COMMAND run-clang-tidy-19 -quiet -p ${PROJECT_BINARY_DIR} ^${PROJECT_SOURCE_DIR}/\(${folders}|tools|bench|tests\)/)
