# Toolchain of the presets asan, tsan and valgrind: clang compiles them in two thirds to three quarters of g++'s time.
# Uses the clang that tools/setup installs, 16 on Debian 12 and 19 on Debian 13.
find_program(CMAKE_C_COMPILER NAMES clang-16 clang-19 REQUIRED)
find_program(CMAKE_CXX_COMPILER NAMES clang++-16 clang++-19 REQUIRED)
# Links the tests in a sixth of the time of GNU ld.
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -fuse-ld=lld)
