#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <stdlib.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep::fuzz {

/// Ends the process with a failure, so that libFuzzer keeps the input.
[[noreturn]] inline void complain(std::string_view problem, std::string_view message) {
  fmt::print(stderr, "{}: {}\n", problem, message);
  std::terminate();
}

inline void check_message(std::string_view message) {
  if (message.empty() || message.find_first_of("\n\r") != std::string_view::npos)
    complain("the error's message is not one line", message);
}

/// Checks the rule for every reader: for any input, it returns or throws an Error with a message of one line. Other
/// exceptions are failures, including BrokenInvariant and LogicError, which report mistakes in the library or its use.
template <class Read>
void result_or_error(const Read& read) {
  try {
    read();
  } catch (const BrokenInvariant& error) {
    complain("a promise inside the library does not hold", error.what());
  } catch (const LogicError& error) {
    complain("the library is used in a way that it forbids", error.what());
  } catch (const Error& error) {
    check_message(error.what());
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file in memory, for readers that take a path. Each input overwrites the previous one. The folder is removed when
/// the process exits normally.
class InputFile {
 public:
  explicit InputFile(const char* name) {
    std::string folder = "/dev/shm/lockstep-fuzz-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) complain("no folder in /dev/shm", folder);
    folder_ = folder;
    path_ = folder_ / name;
  }
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& path() const { return path_; }

  void write(const std::uint8_t* data, std::size_t size) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace lockstep::fuzz

/// Called by libFuzzer with each input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
