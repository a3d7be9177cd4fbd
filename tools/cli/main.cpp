#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>

#include "command_line.h"
#include "train_command.h"

namespace lockstep::cli {
namespace {

constexpr int work_failed = 1;
constexpr int wrong_input = 2;

int complain(const std::string& message, int exit_code) {
  const char* const clear_progress = isatty(STDERR_FILENO) ? "\r\033[K" : "";
  print_message("{}lockstep: {}\n", clear_progress, message.substr(0, message.find('\n')));
  return exit_code;
}

/// Opens the standard streams that the caller closed, so that no file of the program takes their place: output to
/// standard output then fails, and messages are dropped.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

int run(const Help& help) {
  fmt::print("{}", help.text);
  return 0;
}

int run_program(const std::vector<std::string>& arguments) try {
  open_standard_streams();
  const Command command = parse_command_line(arguments, "lockstep " LOCKSTEP_VERSION);
  const int exit_code = std::visit([](const auto& options) { return run(options); }, command);
  require<Error>(std::fflush(stdout) == 0, "standard output: cannot be written: {}", std::strerror(errno));
  return exit_code;
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
