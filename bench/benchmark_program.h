#pragma once

#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace lockstep {

/// Parses `program`'s options, runs `work` and returns the exit status of main. If `work` throws, prints one line to
/// stderr that begins with the program's name, and returns 1. For help and invalid options, CLI11 prints the message
/// and determines the status.
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
