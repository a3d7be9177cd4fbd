#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace lockstep {

/// Rows of one step's global batch.
struct BatchRows {
  std::int64_t own = 0;  ///< of the replica
  std::int64_t all = 0;  ///< of all replicas, other workers' too
};

/// The rows of the step on this thread; nothing where no argument of `Strategy::run` is a batch.
const std::optional<BatchRows>& current_batch_rows();

/// Sets them for the calling thread.
class BatchRowsScope {
 public:
  /// Until the scope ends, which restores the previous ones.
  explicit BatchRowsScope(const std::optional<BatchRows>& rows);
  ~BatchRowsScope();
  BatchRowsScope(const BatchRowsScope&) = delete;
  BatchRowsScope& operator=(const BatchRowsScope&) = delete;

 private:
  std::optional<BatchRows> previous_;
};

/// The rows of an argument of `Strategy::run`. DistributedBatch has an overload of its own.
template <class T>
std::optional<BatchRows> batch_rows(const T&, int /*replica*/) {
  return {};
}

/// The rows of the first argument that has some.
inline std::optional<BatchRows> first_batch_rows(std::initializer_list<std::optional<BatchRows>> of_arguments) {
  for (const std::optional<BatchRows>& rows : of_arguments)
    if (rows) return rows;
  return {};
}

}  // namespace lockstep
