#pragma once

#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace lockstep {

/// What a benchmark's main returns: parses `program`'s options and does `work`. An error is one line that begins with
/// the program's name, and status 1; help and errors in options are printed as CLI11 does, with its status.
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
