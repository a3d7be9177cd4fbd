#pragma once

#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace lockstep {

/// Parses `program`'s options, runs `work` and returns the exit status of main. An error prints one line that begins
/// with the program's name, and gives status 1. Help and invalid options are printed by CLI11, with its status.
template <class Work>
int run_benchmark_program(CLI::App& program, int argc, char** argv, const Work& work) {
  try {
    program.parse(argc, argv);
    work();
  } catch (const CLI::ParseError& error) {
    return program.exit(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program.get_name(), error.what());
    return 1;
  }
  return 0;
}

}  // namespace lockstep
