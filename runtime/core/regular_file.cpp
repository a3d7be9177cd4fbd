#include "lockstep/runtime/core/regular_file.h"

#include <system_error>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

void require_regular_file(const std::filesystem::path& file) {
  std::error_code error;  // names that are too long and the like count as missing
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  require<InputError>(std::filesystem::exists(status), "{}: there is no such file", file.string());
  require<InputError>(std::filesystem::is_regular_file(status), "{}: this is not a regular file", file.string());
}

}  // namespace lockstep
