#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include <lockstep/runtime/core/error.h>

#include "command_line.h"
#include "train_command.h"

namespace lockstep::cli {
namespace {

constexpr int work_failed = 1;
constexpr int wrong_input = 2;

int complain(const std::string& message, int exit_code) {
  const char* const clear_progress = isatty(STDERR_FILENO) ? "\r\033[K" : "";
  fmt::print(stderr, "{}lockstep: {}\n", clear_progress, message.substr(0, message.find('\n')));
  return exit_code;
}

int run(const Help& help) {
  fmt::print("{}", help.text);
  return 0;
}

int run_program(const std::vector<std::string>& arguments) try {
  const Command command = parse_command_line(arguments, "lockstep " LOCKSTEP_VERSION);
  return std::visit([](const auto& options) { return run(options); }, command);
} catch (const InvalidArgument& error) {
  return complain(error.what(), wrong_input);
} catch (const InputError& error) {
  return complain(error.what(), wrong_input);
} catch (const std::exception& error) {
  return complain(error.what(), work_failed);
}

}  // namespace
}  // namespace lockstep::cli

int main(int argc, char** argv) { return lockstep::cli::run_program({argv + std::min(argc, 1), argv + argc}); }
