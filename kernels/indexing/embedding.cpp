#include "lockstep/kernels/indexing/embedding.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/indexing/indices.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/rows_kernels.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {
namespace {

/// The shape of `ids` followed by the shape of a row of `table`.
Shape looked_up_shape(const Tensor& table, const Tensor& ids) {
  Shape shape = ids.shape();
  for (int axis = 1; axis < table.rank(); ++axis) shape.push_back(table.dim(axis));
  return shape;
}

}  // namespace

Tensor embedding_lookup(const Tensor& table, const Tensor& ids) try {
  require_real("embedding_lookup", table);
  require(table.rank() >= 1, "embedding_lookup takes a table of rows, got {}", table);
  const Tensor rows = to_current_device(table);
  const Tensor indices = as_indices("embedding_lookup", "ids", ids).view({ids.elements()});
  const Tensor y = Tensor::empty(looked_up_shape(table, ids), table.dtype());
  const std::int64_t count = indices.elements();
  const std::int64_t width = count > 0 ? y.elements() / count : 0;
  const std::int64_t outside = count == 0 || width == 0
                                   ? -1
                                   : launch(kernels::GatherRows{make_dense(rows).view({1, table.dim(0), width}),
                                                                indices, y.view({1, count, width})});
  require(outside < 0, "embedding_lookup: id {} at place {} is outside the {} rows of the table",
          outside < 0 ? 0 : indices.to_vector<std::int64_t>()[static_cast<std::size_t>(outside)], outside,
          table.dim(0));
  if (recording({rows})) {
    record(
        "embedding_lookup", {rows}, y,
        [indices, shape = table.shape()](BackwardContext& c) {
          Shape values = shape;
          values[0] = indices.elements();
          const IndexedSlices rows{make_dense(c.gradient(0)).view(values), indices, shape};
          if (!c.is_recorded()) return contribute_rows(c, 0, rows);
          contribute_linear(
              c, 0, shape, [&](const Tensor& out) { add_to_zeros(rows, out); },
              [indices, from = c.gradient(0).shape()](const Tensor& d) {
                return reshape(embedding_lookup(d, indices), from);
              },
              rows.values.dtype());
        },
        Reads::rows);
  }
  return y;
} catch (Error& error) {
  rethrow_from("embedding_lookup", error);
}

}  // namespace lockstep
