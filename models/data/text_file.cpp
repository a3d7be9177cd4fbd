#include "lockstep/models/data/text_file.h"

#include <lockstep/models/data/byte_reader.h>

namespace lockstep {

std::string read_text(const std::filesystem::path& file) {
  const Tensor bytes = ByteReader(file).read_all();
  return {static_cast<const char*>(bytes.raw_data()), static_cast<std::size_t>(bytes.dim(0))};
}

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with("\r\n")) return line.substr(0, line.size() - 2);
  return line.ends_with('\n') ? line.substr(0, line.size() - 1) : line;
}

}  // namespace lockstep
