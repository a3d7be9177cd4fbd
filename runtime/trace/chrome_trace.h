#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// A trace for chrome://tracing and Perfetto: JSON in the Trace Event Format. Its rows are grouped by processes, which
/// need not be processes of the operating system.
class ChromeTrace {
 public:
  ///@{
  /// Set the name that viewers show for a process, or for one of its rows.
  void name_process(int process, std::string_view name);
  void name_row(int process, std::int64_t row, std::string_view name);
  ///@}
  /// Adds an event with a duration. `bytes` is the number of bytes that the event's work moved.
  void add(std::string_view name, int process, std::int64_t row, double start_us, double duration_us,
           std::optional<std::uint64_t> bytes = std::nullopt);
  /// Adds an event given as JSON text, such as an event of another trace.
  void add(std::string_view event);
  /// The JSON text of the trace file.
  std::string text() const;

 private:
  void add_name(std::string_view what, int process, std::int64_t row, std::string_view name);

  std::string events_;
};

}  // namespace lockstep
