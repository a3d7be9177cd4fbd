#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

// Caches the results of expensive searches for cuDNN's execution plans, for this process and later ones. Does not need
// a GPU or NVIDIA's libraries.

namespace lockstep::cudnn {

/// Maps keys to bytes; a key is a line of text that contains everything the bytes depend on. Keeps the bytes in memory
/// and in a folder with one file per key. Files are written atomically; a file that is damaged or belongs to another
/// key is ignored. Not thread-safe; several processes may share a folder.
class PlanCache {
 public:
  /// The value of a key.
  using Bytes = std::vector<std::uint8_t>;

  /// Without a folder, keeps bytes in memory only. The folder need not exist.
  explicit PlanCache(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {}

  /// The bytes for this key; nothing if there are none. Logs the name of a file that is damaged or belongs to another
  /// key.
  std::optional<Bytes> find(const std::string& key);
  /// Keeps `bytes` for this key, replacing the key's earlier bytes. If the file cannot be written, keeps the bytes in
  /// memory only and logs a warning the first time.
  void keep(const std::string& key, const Bytes& bytes);
  /// The file of a key. Precondition: there is a folder.
  std::filesystem::path file_of(const std::string& key) const;

 private:
  std::optional<std::filesystem::path> folder_;
  std::map<std::string, Bytes> known_;
  bool has_warned_ = false;
};

/// The user's cache folder: $LOCKSTEP_CACHE_DIR, else $XDG_CACHE_HOME/lockstep, else $HOME/.cache/lockstep; nothing if
/// none of these variables is set. An empty variable counts as not set.
std::optional<std::filesystem::path> cache_folder();

}  // namespace lockstep::cudnn
