#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/element_error.h>

namespace lockstep {

/// The content of a file, decompressed if it is a gzip file. Throws InputError naming the file when it cannot be read
/// or is damaged.
std::string read_text(const std::filesystem::path& file);

/// A line without the line feed, or carriage return and line feed, at its end.
std::string_view without_line_end(std::string_view line);

/// Calls visit(line, number) for the lines of a file's text, numbered from 1, without their ends. Passes on the errors
/// of `visit`, with the file and the line in the message: a lockstep::Error keeps its type, any other exception is
/// nested in an InputError.
template <class Visit>
void for_each_line(std::string_view text, const std::filesystem::path& file, const Visit& visit) {
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n') == text.npos ? text.size() : text.find('\n') + 1);
    text.remove_prefix(line.size());
    try {
      visit(without_line_end(line), number);
    } catch (...) {
      std::rethrow_exception(detail::with_context(fmt::format("{}: line {}", file.string(), number)));
    }
  }
}

}  // namespace lockstep
