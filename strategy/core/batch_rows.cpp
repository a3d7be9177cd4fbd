#include "lockstep/strategy/core/batch_rows.h"

namespace lockstep {
namespace {

thread_local std::optional<BatchRows> current_rows;

}  // namespace

const std::optional<BatchRows>& current_batch_rows() { return current_rows; }

BatchRowsScope::BatchRowsScope(const std::optional<BatchRows>& rows) : previous_(current_rows) { current_rows = rows; }

BatchRowsScope::~BatchRowsScope() { current_rows = previous_; }

}  // namespace lockstep
