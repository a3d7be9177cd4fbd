# cmake -DENVIRONMENT=... -DREQUIREMENTS=... -P environment.cmake: makes the Python environment ENVIRONMENT with the packages
# of the file REQUIREMENTS, unless it is there with the same ones. Build folders share it: one makes it, the others wait.
cmake_path(GET ENVIRONMENT PARENT_PATH folder)
file(MAKE_DIRECTORY ${folder})
file(LOCK ${ENVIRONMENT}.lock TIMEOUT 1200)

file(SHA256 ${REQUIREMENTS} wanted)
set(stamp ${ENVIRONMENT}/requirements.sha256)  # written last: an environment without it is not complete
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
    --only-binary :all: --requirement ${REQUIREMENTS}
  COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${stamp} ${wanted})
