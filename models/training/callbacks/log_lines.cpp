#include "lockstep/models/training/callbacks/log_lines.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

void drop_last_lines(const std::string& path, const std::function<bool(std::string_view line)>& superseded) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto start_of_line = [&](std::size_t end) { return end == 0 ? 0 : text.rfind('\n', end - 1) + 1; };
  std::size_t end = text.rfind('\n') + 1;  // npos + 1 is 0, which means no complete line
  while (end > 0) {
    const std::size_t start = start_of_line(end - 1);
    if (!superseded(std::string_view(text).substr(start, end - 1 - start))) break;
    end = start;
  }
  if (end == text.size()) return;
  std::filesystem::resize_file(path, end, error);
  require<InputError>(!error, "{}: cannot be cut to what the resumed run keeps: {}", path, error.message());
}

}  // namespace lockstep
