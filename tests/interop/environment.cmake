# cmake -DENVIRONMENT=... -DREQUIREMENTS=... -P environment.cmake: creates the Python environment ENVIRONMENT with the
# packages in the file REQUIREMENTS, unless it already has them. Build folders share it: one creates it, the others
# wait. REQUIREMENTS lists all packages that are needed, also those that others need. The huggingface-hub of tokenizers
# is not needed: it only downloads.
cmake_path(GET ENVIRONMENT PARENT_PATH folder)
file(MAKE_DIRECTORY ${folder})
file(LOCK ${ENVIRONMENT}.lock TIMEOUT 1200)

file(SHA256 ${REQUIREMENTS} wanted)
set(stamp ${ENVIRONMENT}/requirements.sha256)  # written last: an environment without it is incomplete
if(EXISTS ${stamp})
  file(READ ${stamp} made_from)
  execute_process(COMMAND ${ENVIRONMENT}/bin/python --version RESULT_VARIABLE broken OUTPUT_QUIET ERROR_QUIET)
  if(made_from STREQUAL wanted AND NOT broken)
    message(STATUS "${ENVIRONMENT} is there")
    return()
  endif()
endif()

file(REMOVE_RECURSE ${ENVIRONMENT})
execute_process(COMMAND python3 -m venv ${ENVIRONMENT} COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${ENVIRONMENT}/bin/python -m pip install --no-input --disable-pip-version-check --progress-bar off
    --only-binary :all: --no-deps --requirement ${REQUIREMENTS}
  COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${stamp} ${wanted})
