#include "lockstep/models/files/zip_file.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/core.h>
#include <zip.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/regular_file.h>

namespace lockstep {
namespace {

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;
using Source = std::unique_ptr<zip_source_t, decltype(&zip_source_free)>;
using Entry = std::unique_ptr<zip_file_t, decltype(&zip_fclose)>;

/// Checks a call that writes to memory. Such a call fails only if memory runs out.
void check(bool ok, const char* what) { require<BrokenInvariant>(ok, "libzip cannot {}", what); }

std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

void add_entry(zip_t* archive, const ZipEntry& entry) {
  constexpr zip_uint16_t midnight = 0, first_of_1980 = 0x21;  // the earliest date of the format
  zip_source_t* bytes = zip_source_buffer(archive, entry.bytes.data(), entry.bytes.size(), 0);
  check(bytes != nullptr, "take an entry");
  const zip_int64_t index = zip_file_add(archive, entry.name.c_str(), bytes, ZIP_FL_ENC_UTF_8);
  if (index < 0) zip_source_free(bytes);
  check(index >= 0, "add an entry");
  const auto number = static_cast<zip_uint64_t>(index);
  check(zip_set_file_compression(archive, number, ZIP_CM_STORE, 0) == 0, "store an entry");
  check(zip_file_set_dostime(archive, number, midnight, first_of_1980, 0) == 0, "date an entry");
}

std::vector<std::byte> contents_of(zip_source_t* source) {
  zip_stat_t stat;
  check(zip_source_stat(source, &stat) == 0 && (stat.valid & ZIP_STAT_SIZE) != 0, "measure an archive");
  std::vector<std::byte> bytes(stat.size);
  check(zip_source_open(source) == 0, "open an archive");
  const zip_int64_t count = zip_source_read(source, bytes.data(), bytes.size());
  zip_source_close(source);
  check(count == static_cast<zip_int64_t>(bytes.size()), "give an archive");
  return bytes;
}

/// Refuses names outside the archive's folder. Nothing is unpacked here, but other programs would write to such names.
void check_names(zip_t* archive, const std::string& path) {
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const char* const name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    require<InputError>(name != nullptr, "{}: entry {} has no name: {}", path, i, zip_strerror(archive));
    const std::filesystem::path entry(name);
    require<InputError>(!entry.has_root_path() && std::ranges::find(entry, "..") == entry.end(),
                        "{}: entry {:?} lies outside of the archive's folder", path, entry.string());
  }
}

Archive open_archive(const std::string& path) {
  require_regular_file(path);
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code), zip_discard);
  require<InputError>(archive != nullptr, "{}: cannot be opened as a zip archive: {}", path, text_of(code));
  check_names(archive.get(), path);
  return archive;
}

}  // namespace

std::vector<std::byte> make_zip(std::span<const ZipEntry> entries) {
  zip_error_t error;
  zip_error_init(&error);
  const Source memory(zip_source_buffer_create(nullptr, 0, 0, &error), zip_source_free);
  check(memory != nullptr, "make an archive");
  Archive archive(zip_open_from_source(memory.get(), ZIP_TRUNCATE, &error), zip_discard);
  check(archive != nullptr, "make an archive");
  zip_source_keep(memory.get());  // the archive would free it
  for (const ZipEntry& entry : entries) add_entry(archive.get(), entry);
  check(zip_close(archive.get()) == 0, "write an archive");
  archive.release();  // closed by zip_close
  return contents_of(memory.get());
}

std::vector<std::string> zip_entry_names(const std::string& path) {
  const Archive archive = open_archive(path);
  std::vector<std::string> names;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i)
    names.emplace_back(zip_get_name(archive.get(), static_cast<zip_uint64_t>(i), 0));
  return names;
}

std::vector<std::byte> read_zip_entry(const std::string& path, const std::string& name) {
  const Archive archive = open_archive(path);
  zip_stat_t stat;
  require<InputError>(zip_stat(archive.get(), name.c_str(), 0, &stat) == 0, "{}: has no entry {:?}", path, name);
  require<InputError>(stat.comp_method == ZIP_CM_STORE || stat.comp_method == ZIP_CM_DEFLATE,
                      "{}: entry {:?} is compressed by method {}; stored and deflated ones are read", path, name,
                      stat.comp_method);
  const Entry entry(zip_fopen(archive.get(), name.c_str(), 0), zip_fclose);
  require<InputError>(entry != nullptr, "{}: entry {:?} cannot be opened: {}", path, name, zip_strerror(archive.get()));
  // Grows with the bytes read, because a damaged file can claim any size. Deflate's best ratio limits it to a multiple
  // of the file's size.
  std::vector<std::byte> bytes;
  for (std::size_t step = 1 << 20;; step = bytes.size()) {
    const std::size_t before = bytes.size();
    bytes.resize(before + step);
    const zip_int64_t count = zip_fread(entry.get(), bytes.data() + before, step);
    require<InputError>(count >= 0, "{}: entry {:?} is damaged: {}", path, name, zip_file_strerror(entry.get()));
    bytes.resize(before + static_cast<std::size_t>(count));
    if (count == 0) return bytes;
  }
}

}  // namespace lockstep
