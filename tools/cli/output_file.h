#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::cli {

/// Throws InputError unless a file can be written at `path`: its folder exists, `path` is not a folder, and the file
/// or, if it does not exist, the folder is writable. Writes nothing. `option` is the option's name, for the message.
/// Called for every output before work starts.
void require_writable(const std::string& path, const std::string& option);

/// As require_writable for a file that is replaced as a whole: also throws InputError unless the folder is writable,
/// and if `path` exists and is not a regular file.
void require_replaceable(const std::string& path, const std::string& option);

/// Throws InputError unless `path` is a writable folder or can be made as one: nothing of this name exists, and the
/// nearest parent that exists is writable.
void require_folder(const std::string& path, const std::string& option);

/// Throws InvalidArgument if `path` is the data file. `source` is the value of --data, e.g. "csv:FILE".
void require_no_data(const std::string& path, const std::string& option, const std::string& source);

/// Throws InvalidArgument, naming both options, if two outputs are the same file. Each element of `outputs` is an
/// option and its path. Empty paths are ignored. Several outputs may be the same device, such as /dev/null.
void require_distinct(const std::vector<std::pair<std::string, std::string>>& outputs);

/// Writes outputs one after another, also those that follow one that fails.
class OutputWriter {
 public:
  /// Calls `write` and keeps the exception that it throws. Returns whether it has thrown none.
  bool write(const std::function<void()>& write);
  /// Throws the first exception of `write`, if any; prints the messages of the others.
  void finish() const;

 private:
  std::vector<std::exception_ptr> errors_{};
};

}  // namespace lockstep::cli
