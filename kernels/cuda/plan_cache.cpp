#include "lockstep/kernels/cuda/plan_cache.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep::cudnn {
namespace {

namespace fs = std::filesystem;

/// 64-bit FNV-1a hash.
std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::string_view text_of(const PlanCache::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The header of a plan's file: the format, the key, and the length and hash of the contents.
std::string header_of(const std::string& key, std::string_view contents) {
  return fmt::format("lockstep plan 1\n{}\n{} {:016x}\n", key, contents.size(), fnv1a(contents));
}

/// The contents of a file, or nullopt if the file is incomplete or was written for another key.
std::optional<PlanCache::Bytes> contents_of(const std::string& file, const std::string& key) {
  // The header has three lines.
  std::size_t end = 0;
  for (int line = 0; line < 3; ++line) {
    end = file.find('\n', end);
    if (end == std::string::npos) return {};
    ++end;
  }
  const std::string_view contents = std::string_view(file).substr(end);
  if (file.substr(0, end) != header_of(key, contents)) return {};
  return PlanCache::Bytes(contents.begin(), contents.end());
}

std::optional<fs::path> from_environment(const char* variable, const char* below) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return {};
  return fs::path(value) / below;
}

}  // namespace

fs::path PlanCache::file_of(const std::string& key) const {
  return folder_.value() / fmt::format("{:016x}.plan", fnv1a(key));
}

std::optional<PlanCache::Bytes> PlanCache::find(const std::string& key) {
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (!folder_) return {};
  const fs::path path = file_of(key);
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  std::optional<Bytes> contents = contents_of(file, key);
  if (contents)
    known_[key] = *contents;
  else
    log_warning("{} is damaged or holds another plan, and will be overwritten", path.string());
  return contents;
}

void PlanCache::keep(const std::string& key, const Bytes& bytes) {
  known_[key] = bytes;
  if (!folder_) return;
  const std::string file = header_of(key, text_of(bytes)) + std::string(text_of(bytes));
  try {
    fs::create_directories(*folder_);
    write_file_atomically(file_of(key).string(), std::as_bytes(std::span(file)));
  } catch (const std::exception& error) {
    if (!std::exchange(has_warned_, true))
      log_warning("cuDNN's plans cannot be saved for later runs: {}", error.what());
  }
}

std::optional<fs::path> cache_folder() {
  if (const auto own = from_environment("LOCKSTEP_CACHE_DIR", "")) return own;
  if (const auto caches = from_environment("XDG_CACHE_HOME", "lockstep")) return caches;
  return from_environment("HOME", ".cache/lockstep");
}

}  // namespace lockstep::cudnn
