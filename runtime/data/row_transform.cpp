#include "lockstep/runtime/data/row_transform.h"

#include <utility>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

RowTransform::RowTransform(Function function) : function_(std::move(function)) {
  require(function_ != nullptr, "a RowTransform needs a function");
}

RandomTransform::RandomTransform(OfElement of_element, OfRows of_rows)
    : of_element_(std::move(of_element)), of_rows_(std::move(of_rows)) {
  require(of_element_ != nullptr && of_rows_ != nullptr, "a RandomTransform needs two functions");
}

Batch RandomTransform::of_rows(const Batch& rows, std::span<const ElementId> ids) const {
  require(static_cast<std::int64_t>(ids.size()) == rows.size(),
          "a RandomTransform needs a position for each row, got {} for {} rows", ids.size(), rows.size());
  return of_rows_(rows, ids);
}

}  // namespace lockstep
