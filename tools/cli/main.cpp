#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <lockstep/runtime/core/error.h>

#include "commands.h"

namespace {

constexpr int work_failed = 1;
constexpr int wrong_input = 2;

int complain(const std::string& message, int exit_code) {
  fmt::print(stderr, "lockstep: {}\n", message.substr(0, message.find('\n')));
  return exit_code;
}

bool is_command(const CLI::App& program, const std::string& name) {
  const auto commands = program.get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* c) { return c->check_name(name); });
}

/// How many letters are to be put in, left out or exchanged to make one word of the other.
std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchanged = before + (a[i - 1] == b[j - 1] ? 0 : 1);
      before = row[j];
      row[j] = std::min({exchanged, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

/// "lr" of "learning-rate".
std::string initials_of(const std::string& name) {
  std::string initials;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (i == 0 || name[i - 1] == '-') initials += name[i];
  return initials;
}

/// The option of a command that may have been meant; empty when none comes near.
std::string option_near(const CLI::App& command, const std::string& given) {
  std::string nearest;
  std::size_t least = 3;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) {
      const bool is_short_for = initials_of(name) == given || name.starts_with(given);
      const std::size_t edits = is_short_for ? 0 : edits_between(given, name);
      if (edits >= least) continue;
      least = edits;
      nearest = name;
    }
  return nearest;
}

/// Which of the arguments is no option of its command, and which one may have been meant; empty when all are.
std::string unknown_option(const CLI::App& program, int argc, char** argv) {
  if (argc < 2 || !is_command(program, argv[1])) return "";
  const CLI::App& command = *program.get_subcommand(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const std::string argument = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (!argument.starts_with("--") || argument.size() == 2 || command.get_option_no_throw(argument)) continue;
    const std::string near = option_near(command, argument.substr(2));
    return fmt::format("{} is no option of {}{}", argument, argv[1],
                       near.empty() ? "" : fmt::format("; is --{} meant?", near));
  }
  return "";
}

int run(int argc, char** argv) {
  int exit_code = 0;
  CLI::App program("Synchronous data-parallel training on several devices.", "lockstep");
  program.require_subcommand(1);
  program.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
  // A script's options come before those that it passes on.
  program.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  program.footer(
      "Examples:\n"
      "  lockstep devices\n"
      "  lockstep train --model minigooglenet --data fashion-mnist --replicas 2 --epochs 1 --plot history.png\n"
      "  lockstep bench --model minigooglenet --replicas 2 --json\n"
      "  lockstep COMMAND --help");
  lockstep::cli::add_devices_command(program, exit_code);
  lockstep::cli::add_doctor_command(program, exit_code);
  lockstep::cli::add_train_command(program, exit_code);
  lockstep::cli::add_evaluate_command(program, exit_code);
  lockstep::cli::add_predict_command(program, exit_code);
  lockstep::cli::add_bench_command(program, exit_code);
  lockstep::cli::add_scaling_command(program, exit_code);
  lockstep::cli::add_summary_command(program, exit_code);
  lockstep::cli::add_convert_command(program, exit_code);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return program.exit(help);
  } catch (const CLI::RequiredError& error) {
    if (argc > 1 && argv[1][0] != '-' && !is_command(program, argv[1]))
      return complain(fmt::format("'{}' is no command; choose devices, doctor, train, evaluate, predict, bench, "
                                  "scaling, summary or convert",
                                  argv[1]),
                      wrong_input);
    return complain(fmt::format("{} (see --help)", error.what()), wrong_input);
  } catch (const CLI::ExtrasError& error) {
    const std::string unknown = unknown_option(program, argc, argv);
    return complain(fmt::format("{} (see --help)", unknown.empty() ? error.what() : unknown), wrong_input);
  } catch (const CLI::ParseError& error) {
    return complain(fmt::format("{} (see --help)", error.what()), wrong_input);
  } catch (const lockstep::InvalidArgument& error) {
    return complain(error.what(), wrong_input);
  } catch (const lockstep::InputError& error) {
    return complain(error.what(), wrong_input);
  } catch (const std::exception& error) {
    return complain(error.what(), work_failed);
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
