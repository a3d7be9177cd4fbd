#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace lockstep::cli {

/// Prints help in two columns, as wide as the terminal. Appends "(required)" to the descriptions of required options.
/// Appends the default to the description of any other option that does not contain the word "default".
class HelpFormatter final : public CLI::Formatter {
 public:
  /// Sets the project's names for the types of values.
  HelpFormatter();

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
};

}  // namespace lockstep::cli
