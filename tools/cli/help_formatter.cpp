#include "help_formatter.h"

#include <fmt/core.h>

#include "wrapped_text.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t left_column = 30;

std::string entry(const std::string& name, const std::string& description) {
  const bool has_room = name.size() + 4 <= left_column;
  return fmt::format("  {:<{}}{}{:{}}{}\n", name, has_room ? left_column - 2 : 0, has_room ? "" : "\n", "",
                     has_room ? 0 : left_column, wrapped(description, left_column));
}

std::string default_of(const CLI::Option& option) {
  if (option.get_required()) return " (required)";
  const bool is_said = option.get_description().find("default") != std::string::npos;
  return is_said || option.get_default_str().empty() ? "" : fmt::format(" (default {})", option.get_default_str());
}

}  // namespace

HelpFormatter::HelpFormatter() {
  label("TEXT", "NAME");
  label("INT", "N");
  label("UINT", "N");
  label("FLOAT", "X");
  label("SUBCOMMAND", "COMMAND");
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  return CLI::detail::find_and_replace(Formatter::make_help(app, std::move(name), mode), "\n\n\n", "\n\n");
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), 0) + "\n";
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description());
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = CLI::detail::find_and_replace(make_option_name(option, is_positional), "{false}", "");
  if (option->get_type_size() != 0 && !is_positional) name += " " + get_label(option->get_type_name());
  return entry(name, option->get_description() + default_of(*option));
}

}  // namespace lockstep::cli
