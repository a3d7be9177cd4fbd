#include "wrapped_text.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <sys/ioctl.h>
#include <unistd.h>

namespace lockstep::cli {

std::size_t output_columns() {
  constexpr std::size_t least = 40;  // narrower lines have room for few words only
  const char* const given = std::getenv("COLUMNS");
  const long columns = given ? std::strtol(given, nullptr, 10) : 0;
  if (columns > 0) return std::max(least, static_cast<std::size_t>(columns));
  winsize window{};
  const bool is_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return is_terminal ? std::max<std::size_t>(least, window.ws_col) : 80;
}

std::string wrapped(const std::string& text, std::size_t indent) {
  const std::size_t columns = std::max(output_columns(), indent + 1) - indent;
  std::string next_line(indent + 1, ' ');
  next_line[0] = '\n';
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!result.empty()) result += next_line;
    std::size_t used = 0;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ' '); used += word.size()) {
      if (used > 0 && used + 1 + word.size() > columns) {
        result += next_line;
        used = 0;
      } else if (used > 0) {
        result += ' ';
        ++used;
      }
      result += word;
    }
  }
  return result;
}

}  // namespace lockstep::cli
