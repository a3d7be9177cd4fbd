#pragma once

#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/runtime/data/dataset.h>

// Checks of parts of batches, which several workers compute separately.

namespace lockstep::test {

/// Checks that the second half of each batch, computed separately, has the same bits as in the whole batch.
inline void expect_parts_like_the_whole(const Dataset& batches) {
  const Dataset halves = batches.rows_of_batches([](std::int64_t rows) { return RowRange{rows / 2, rows}; }).value();
  DatasetIterator pass = halves.epoch();
  std::int64_t rows = 0;
  for (const Batch& whole : batches.epoch()) {
    const Batch half = pass.next().value();
    expect_same_bits(half.x(), whole.x().slice_view(0, whole.size() / 2, whole.size()));
    expect_same_bits(half.y(), whole.y().slice_view(0, whole.size() / 2, whole.size()));
    rows += half.size();
  }
  EXPECT_GT(rows, 0);
}

}  // namespace lockstep::test
