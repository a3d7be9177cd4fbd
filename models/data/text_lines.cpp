#include "lockstep/models/data/text_lines.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <lockstep/models/data/byte_reader.h>
#include <lockstep/models/data/example_numbers.h>
#include <lockstep/models/data/text_file.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/element_error.h>

namespace lockstep {
namespace {

/// The positions of a file's lines.
struct LinesOfFile {
  std::filesystem::path path;
  std::int64_t first;                   ///< number of lines in all earlier files
  std::vector<std::uint64_t> begins{};  ///< where each line begins; the last element is the size of the text
  Tensor text{};                        ///< the text of a compressed file; undefined for others

  std::int64_t lines() const { return static_cast<std::int64_t>(begins.size()) - 1; }
};

std::string_view text_of(const Tensor& bytes) {
  return {static_cast<const char*>(bytes.raw_data()), static_cast<std::size_t>(bytes.dim(0))};
}

LinesOfFile lines_of(const std::filesystem::path& path, std::int64_t first) {
  LinesOfFile lines{path, first, {0}};
  std::uint64_t size = 0;
  const auto add = [&](std::string_view text) {
    for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
      lines.begins.push_back(size + at + 1);
    size += text.size();
  };
  ByteReader reader(path);
  if (reader.is_compressed()) {
    lines.text = reader.read_all();
    add(text_of(lines.text));
  } else {
    std::vector<char> block(1 << 18);
    while (const std::size_t bytes = reader.read(reinterpret_cast<std::byte*>(block.data()), block.size()))
      add({block.data(), bytes});
  }
  if (lines.begins.back() < size) lines.begins.push_back(size);  // the last line does not end with a newline
  return lines;
}

std::string read_line(const LinesOfFile& lines, std::size_t number) {
  const std::uint64_t begin = lines.begins[number];
  std::string line(lines.begins[number + 1] - begin, '\0');
  if (lines.text.defined()) return std::string(text_of(lines.text).substr(begin, line.size()));
  std::ifstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);  // reads no more than a line
  file.open(lines.path, std::ios::binary);
  require<InputError>(file.is_open(), "cannot be opened");
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  require<InputError>(static_cast<bool>(file), "the file is shorter than when it was opened");
  return line;
}

/// The lines of several files, numbered from 0.
struct Lines {
  std::vector<LinesOfFile> files;
  LineEncoder encode;

  Example read(std::int64_t index) const {
    const auto after = std::ranges::upper_bound(files, index, {}, &LinesOfFile::first);
    const LinesOfFile& file = *std::prev(after);
    const std::int64_t number = index - file.first;
    try {
      return {{encode(without_line_end(read_line(file, static_cast<std::size_t>(number))))}};
    } catch (...) {
      std::rethrow_exception(detail::with_context(fmt::format("{}: line {}", file.path.string(), number + 1)));
    }
  }
};

}  // namespace

Dataset text_line_dataset(const std::vector<std::filesystem::path>& files, LineEncoder encode,
                          const TextLineOptions& options) {
  require(encode != nullptr, "text_line_dataset() needs a function that encodes a line");
  Lines lines{{}, std::move(encode)};
  std::int64_t count = 0;
  for (const std::filesystem::path& path : files) {
    lines.files.push_back(lines_of(path, count));
    count += lines.files.back().lines();
  }
  const Dataset numbers = example_numbers(static_cast<std::size_t>(count), options.shuffle, options.seed);
  return numbers.map([shared = std::make_shared<const Lines>(std::move(lines))](const Example& number) {
    return shared->read(number.x().item<std::int64_t>());
  });
}

Example split_input_target(const Example& window) {
  const Tensor& steps = window.x();
  require(steps.defined() && steps.rank() >= 1 && steps.dim(0) >= 2,
          "a window to split into input and target needs at least 2 steps, got {}", steps);
  return {{steps.slice_view(0, 0, steps.dim(0) - 1)}, {steps.slice_view(0, 1, steps.dim(0))}};
}

}  // namespace lockstep
