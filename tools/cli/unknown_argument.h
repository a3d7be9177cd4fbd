#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace lockstep::cli {

/// What is wrong where the first argument should name a command and does not; empty where it does.
std::string unknown_command(const CLI::App& program, const std::vector<std::string>& arguments);

/// Which of the arguments is not an option of its command, and which one may have been meant; empty when all are.
std::string unknown_option(const CLI::App& program, const std::vector<std::string>& arguments);

}  // namespace lockstep::cli
