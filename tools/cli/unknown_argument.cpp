#include "unknown_argument.h"

#include <cctype>

#include <fmt/ranges.h>

#include "nearest_name.h"

namespace lockstep::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

/// nullptr when no command has this name.
const CLI::App* find_command(const CLI::App& program, const std::string& name) {
  for (const CLI::App* command : commands_of(program))
    if (command->get_name() == name) return command;
  return nullptr;
}

}  // namespace

std::string unknown_command(const CLI::App& program, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-') || find_command(program, arguments[0])) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(program)) names.push_back(command->get_name());
  return fmt::format("'{}' is not a command; choose {} or {}{}", arguments[0],
                     fmt::join(names.begin(), names.end() - 1, ", "), names.back(), suggestion(arguments[0], names));
}

std::string unknown_option(const CLI::App& program, const std::vector<std::string>& arguments) {
  const CLI::App* const command = arguments.empty() ? nullptr : find_command(program, arguments[0]);
  if (!command) return "";
  std::vector<std::string> names;
  for (const CLI::Option* option : command->get_options())
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string argument = arguments[i].substr(0, arguments[i].find('='));
    const std::size_t first = argument.find_first_not_of('-');
    const bool is_option = first != 0 && first != std::string::npos && std::isalpha(argument[first]) != 0;  // no -0.1
    if (!is_option || command->get_option_no_throw(argument)) continue;
    return fmt::format("{} is not an option of {}{}", argument, arguments[0],
                       suggestion(argument.substr(first), names, "--"));
  }
  return "";
}

}  // namespace lockstep::cli
