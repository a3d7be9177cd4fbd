#include "lockstep/runtime/core/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished_prefix = ".lockstep-";
constexpr std::string_view unfinished_suffix = ".tmp";

[[noreturn]] void fail_to_write(const fs::path& path, int reason) {
  fail<InputError>("{}: cannot be written: {}", path.string(), std::strerror(reason));
}

/// Whether another process of this machine may be writing the new file of this name, which holds its process number.
bool is_being_written(std::string_view name) {
  pid_t process = 0;
  std::from_chars(name.data() + unfinished_prefix.size(), name.data() + name.size(), process);
  return process > 0 && process != ::getpid() && (::kill(process, 0) == 0 || errno == EPERM);
}

/// Follows links from `path` to the file to write. Throws InputError if it is already clear that writing will fail.
fs::path resolve_target(const std::string& path) {
  require<InputError>(!path.empty(), "a file to write needs a name, got an empty one");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return path;
  require<InputError>(fs::is_regular_file(status), "{}: cannot be written: it exists and is not a regular file", path);
  // rename() replaces a file even if it is write-protected, so the permission is checked here.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) fail_to_write(path, errno);
  const fs::path target = fs::canonical(path, error);
  require<InputError>(!error, "{}: cannot be written: {}", path, error.message());
  return target;
}

/// Makes the new name survive a power failure, if the file system can; the file's contents are already on disk.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : target_(resolve_target(path)) {
  static std::atomic<unsigned> number = 0;
  do {
    temporary_ =
        target_.parent_path() / fmt::format("{}{}-{}{}", unfinished_prefix, ::getpid(), number++, unfinished_suffix);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);  // left by an earlier process with the same id
  if (descriptor_ < 0) fail_to_write(target_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_write(target_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  struct stat old {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  if (replaces && ::fchmod(descriptor_, old.st_mode & 07777) != 0) fail_to_write(target_, errno);
  if (::fsync(descriptor_) != 0) fail_to_write(target_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_to_write(target_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_to_write(target_, errno);
  temporary_.clear();
  sync_folder(target_.parent_path());
}

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void make_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  require<InputError>(!error, "{}: its folder cannot be made: {}", path, error.message());
}

void remove_unfinished_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(unfinished_prefix) && name.ends_with(unfinished_suffix) && !is_being_written(name))
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace lockstep
