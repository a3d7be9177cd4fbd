#include "output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include <unistd.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep::cli {
namespace fs = std::filesystem;

namespace {

fs::path folder_of(const std::string& path) {
  return fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
}

void require_write_permission(const fs::path& place, const std::string& path, const std::string& option) {
  const bool permitted = access(place.c_str(), W_OK) == 0;
  require<InputError>(permitted, "{} {}: cannot be written: {}", option, path, std::strerror(errno));
}

}  // namespace

void require_writable(const std::string& path, const std::string& option) {
  std::error_code error;  // of names that are too long and the like, which access() reports
  const fs::path folder = folder_of(path);
  require<InputError>(fs::is_directory(folder, error), "{} {}: the folder {} does not exist", option, path,
                      folder.string());
  require<InputError>(!fs::is_directory(path, error), "{} {}: is a folder, a file name is needed", option, path);
  const bool is_new = access(path.c_str(), F_OK) != 0 && errno == ENOENT;
  require_write_permission(is_new ? folder : fs::path(path), path, option);
}

void require_replaceable(const std::string& path, const std::string& option) {
  require_writable(path, option);
  require_write_permission(folder_of(path), path, option);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  require<InputError>(!fs::exists(status) || fs::is_regular_file(status),
                      "{} {}: cannot be written: it exists and is not a regular file", option, path);
}

void require_folder(const std::string& path, const std::string& option) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  require<InputError>(is_folder || error == std::errc::no_such_file_or_directory, "{} {}: {}", option, path,
                      error ? "cannot be a folder: " + error.message() : "is not a folder");
  fs::path nearest = fs::absolute(path, error);
  while (!fs::exists(nearest, error) && nearest.has_relative_path()) nearest = nearest.parent_path();
  require_write_permission(nearest, path, option);
}

void require_no_data(const std::string& path, const std::string& option, const std::string& source) {
  const std::size_t colon = source.find(':');
  std::error_code error;  // of a file that does not exist
  require(colon == std::string::npos || !fs::equivalent(path, source.substr(colon + 1), error),
          "{} {}: is the file of --data, which it would replace; give it another name", option, path);
}

void require_distinct(const std::vector<std::pair<std::string, std::string>>& outputs) {
  std::map<fs::path, std::string> options;  // by file
  for (const auto& [option, path] : outputs) {
    std::error_code error;
    if (path.empty() || fs::is_other(path, error)) continue;
    const fs::path file = fs::weakly_canonical(fs::absolute(path, error), error);
    const auto [other, is_new] = options.emplace(error ? fs::path(path) : file, option);
    require(is_new, "{} {}: is also the file of {}; give each a name of its own", option, path, other->second);
  }
}

bool OutputWriter::write(const std::function<void()>& write) try {
  write();
  return true;
} catch (...) {
  errors_.push_back(std::current_exception());
  return false;
}

void OutputWriter::finish() const {
  for (std::size_t i = 1; i < errors_.size(); ++i) print_message("lockstep: {}\n", message_of(errors_[i]));
  if (!errors_.empty()) std::rethrow_exception(errors_.front());
}

}  // namespace lockstep::cli
