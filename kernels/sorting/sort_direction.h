#pragma once

namespace lockstep {

/// The order of sorted numbers.
enum class SortDirection { ascending, descending };

}  // namespace lockstep
