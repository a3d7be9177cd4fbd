#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace lockstep::cli {

/// Error message if the first argument should name a command and does not; otherwise empty.
std::string unknown_command(const CLI::App& program, const std::vector<std::string>& arguments);

/// Error message, with a suggestion, for the first option that its command does not have; empty if there is none.
std::string unknown_option(const CLI::App& program, const std::vector<std::string>& arguments);

}  // namespace lockstep::cli
