#pragma once

#include <cstdint>
#include <span>

#include <lockstep/runtime/core/shape.h>

namespace lockstep {

/// The shape of a batch of examples: (rows, shape).
inline Shape with_batch_axis(const Shape& shape, std::int64_t rows = 1) {
  Shape result{rows};
  for (const std::int64_t size : shape) result.push_back(size);
  return result;
}

/// The shape of one example of a batch: the batch's shape without the first axis. Precondition: the batch has an axis.
inline Shape without_batch_axis(const Shape& batch) { return Shape(std::span(batch.begin() + 1, batch.end())); }

}  // namespace lockstep
