#include <algorithm>
#include <vector>

#include <tools/cli/train_options.h>

#include "fuzz_target.h"

namespace lockstep::fuzz {
namespace {

/// Arguments are divided by line ends.
std::vector<std::string> arguments_of(std::string_view text) {
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    arguments.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::ranges::reverse(arguments);  // as CLI11 takes them
  return arguments;
}

/// As `lockstep train` before it opens data.
void parse(std::string_view text) {
  CLI::App program("", "lockstep");
  program.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  cli::TrainOptions options;
  options.add_to(program);
  try {
    program.parse(arguments_of(text));
  } catch (const CLI::ParseError&) {  // told in one line by main
    return;
  }
  if (options.plot.empty()) options.check();  // else gnuplot is looked for
  (void)options.replicas.count();
}

}  // namespace
}  // namespace lockstep::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::fuzz::result_or_error([&] { lockstep::fuzz::parse(lockstep::fuzz::text_of(data, size)); });
  return 0;
}
