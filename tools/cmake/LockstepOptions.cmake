# What a user may choose when configuring.
set(LOCKSTEP_CUDA AUTO CACHE STRING "Build the CUDA parts: AUTO (when a toolkit is found), ON, OFF")
set_property(CACHE LOCKSTEP_CUDA PROPERTY STRINGS AUTO ON OFF)
set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers for all code, as in -fsanitize=: address,undefined or thread")
option(LOCKSTEP_NATIVE "Compile for this machine's processor (-march=native)" ON)
option(LOCKSTEP_BENCH "Build the benchmarks" ON)
option(LOCKSTEP_WERROR "Treat warnings in the project's own code as errors" ON)
