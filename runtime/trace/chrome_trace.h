#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// A trace for chrome://tracing and Perfetto: JSON in the Trace Event Format. Rows belong to processes, which need not
/// be those of the system.
class ChromeTrace {
 public:
  ///@{
  /// What a viewer shows for a process, or for one of its rows.
  void name_process(int process, std::string_view name);
  void name_row(int process, std::int64_t row, std::string_view name);
  ///@}
  /// Something that took a while; `bytes` is how many it moved.
  void add(std::string_view name, int process, std::int64_t row, double start_us, double duration_us,
           std::optional<std::uint64_t> bytes = std::nullopt);
  /// An event of another trace, as JSON.
  void add(std::string_view event);
  /// The file's contents.
  std::string text() const;

 private:
  void add_name(std::string_view what, int process, std::int64_t row, std::string_view name);

  std::string events_;
};

}  // namespace lockstep
