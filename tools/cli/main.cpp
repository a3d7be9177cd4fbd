#include <algorithm>
#include <cstdio>
#include <string>

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

int run(int argc, char** argv) {
  int exit_code = 0;
  CLI::App program("Synchronous data-parallel training on several devices.", "lockstep");
  program.require_subcommand(1);
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
