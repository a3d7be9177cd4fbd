#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace lockstep {

/// Numbers of rows of one step's global batch.
struct BatchRows {
  std::int64_t own = 0;  ///< rows of this replica's part
  std::int64_t all = 0;  ///< rows of all replicas, including those of other workers
};

/// The numbers of rows of the step that runs on this thread; nothing if no argument of `Strategy::run` is a batch.
const std::optional<BatchRows>& current_batch_rows();

/// Sets current_batch_rows() of the calling thread until the scope ends.
class BatchRowsScope {
 public:
  /// Sets `rows`; the destructor restores the previous value.
  explicit BatchRowsScope(const std::optional<BatchRows>& rows);
  ~BatchRowsScope();
  BatchRowsScope(const BatchRowsScope&) = delete;
  BatchRowsScope& operator=(const BatchRowsScope&) = delete;

 private:
  std::optional<BatchRows> previous_;
};

/// The numbers of rows of an argument of `Strategy::run`: nothing for all types except DistributedBatch, which has its
/// own overload.
template <class T>
std::optional<BatchRows> batch_rows(const T&, int /*replica*/) {
  return {};
}

/// The numbers of rows of the first argument that is a batch; nothing if no argument is one.
inline std::optional<BatchRows> first_batch_rows(std::initializer_list<std::optional<BatchRows>> of_arguments) {
  for (const std::optional<BatchRows>& rows : of_arguments)
    if (rows) return rows;
  return {};
}

}  // namespace lockstep
