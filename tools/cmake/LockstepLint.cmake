# Targets check-format and check-tidy: the project's own code as .clang-format and .clang-tidy want it.
add_custom_target(check-format VERBATIM USES_TERMINAL
  COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tools/lint/check_format.py ${PROJECT_SOURCE_DIR})

list(JOIN LOCKSTEP_FOLDERS "|" folders)
add_custom_target(check-tidy VERBATIM USES_TERMINAL
  COMMENT "clang-tidy 19 over the sources of this build (tools/setup --lint installs it)"
  COMMAND run-clang-tidy-19 -quiet -p ${PROJECT_BINARY_DIR} ^${PROJECT_SOURCE_DIR}/\(${folders}|tools|bench|tests\)/)
