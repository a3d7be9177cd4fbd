#include "lockstep/models/data/text_file.h"

#include <vector>

#include <lockstep/models/data/byte_reader.h>

namespace lockstep {

std::string read_text(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = ByteReader(file).read_all();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with("\r\n")) return line.substr(0, line.size() - 2);
  return line.ends_with('\n') ? line.substr(0, line.size() - 1) : line;
}

}  // namespace lockstep
