#include "output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep::cli {
namespace fs = std::filesystem;

void require_writable(const std::string& path, const std::string& option) {
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  require<InputError>(fs::is_directory(folder), "{} {}: the folder {} does not exist", option, path, folder.string());
  require<InputError>(!fs::is_directory(path), "{} {}: is a folder, a file name is needed", option, path);
  const bool writable = access(folder.c_str(), W_OK) == 0 && (!fs::exists(path) || access(path.c_str(), W_OK) == 0);
  require<InputError>(writable, "{} {}: cannot be written: {}", option, path, std::strerror(errno));
}

}  // namespace lockstep::cli
