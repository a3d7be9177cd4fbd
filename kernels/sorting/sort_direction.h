#pragma once

namespace lockstep {

/// Which way round sorting puts numbers.
enum class SortDirection { ascending, descending };

}  // namespace lockstep
