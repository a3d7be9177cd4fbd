#include <algorithm>
#include <vector>

#include <tools/cli/command_line.h>

#include "fuzz_target.h"

namespace lockstep::fuzz {
namespace {

/// Arguments of `lockstep train`, one on each line.
std::vector<std::string> arguments_of(std::string_view text) {
  std::vector<std::string> arguments{"train"};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    arguments.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

/// Parses and checks the options as the program does before it opens data.
void parse(std::string_view text) {
  const cli::Command command = cli::parse_command_line(arguments_of(text), "");
  const auto* const options = std::get_if<cli::TrainOptions>(&command);
  if (!options) return;  // --help
  options->check();
  if (options->plot.empty()) options->check_outputs();  // with --plot, it would look for gnuplot
  (void)options->replicas.count();
}

}  // namespace
}  // namespace lockstep::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::fuzz::result_or_error([&] { lockstep::fuzz::parse(lockstep::fuzz::text_of(data, size)); });
  return 0;
}
