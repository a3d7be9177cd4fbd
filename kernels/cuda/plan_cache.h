#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What has been found out about plans at some expense, kept for this program and for later ones. Nothing here needs a
// GPU or one of its libraries.

namespace lockstep::cudnn {

/// Bytes by keys, texts that say all that the bytes depend on: in memory, and in a folder, a file for each key. Files
/// are written whole or not at all; one that is damaged or was written for another key counts as none. Not thread-safe
/// in itself; several programs may share a folder.
class PlanCache {
 public:
  /// What is kept.
  using Bytes = std::vector<std::uint8_t>;

  /// Without a folder, in memory only. The folder need not exist.
  explicit PlanCache(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {}

  /// What was kept for this key; none when nothing was. A file that cannot be used is named in the log.
  std::optional<Bytes> find(const std::string& key);
  /// Keeps `bytes` for this key, in place of what was. Where files cannot be written they are kept in memory; the log
  /// says so once.
  void keep(const std::string& key, const Bytes& bytes);
  /// The file of a key. Precondition: there is a folder.
  std::filesystem::path file_of(const std::string& key) const;

 private:
  std::optional<std::filesystem::path> folder_;
  std::map<std::string, Bytes> known_;
  bool has_warned_ = false;
};

/// Where this user's programs keep what they may lose: LOCKSTEP_CACHE_DIR, else lockstep in XDG_CACHE_HOME or in
/// .cache of the home directory; none when the environment names none of these.
std::optional<std::filesystem::path> cache_folder();

}  // namespace lockstep::cudnn
