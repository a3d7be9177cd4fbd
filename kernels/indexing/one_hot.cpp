#include "lockstep/kernels/indexing/one_hot.h"

#include <utility>

#include <lockstep/kernels/indexing/indexing_kernels.h>
#include <lockstep/kernels/indexing/indices.h>
#include <lockstep/kernels/reduction/axis_groups.h>

namespace lockstep {

Tensor one_hot(const Tensor& indices, std::int64_t classes, int axis, DType dtype) try {
  const Tensor ids = as_indices("one_hot", "indices", indices);
  require(classes >= 0, "one_hot takes at least 0 classes, got {}", classes);
  Shape shape = ids.shape();
  shape.push_back(classes);
  const int place = shape.normalize_axis(axis);
  for (int after = shape.rank() - 1; after > place; --after) std::swap(shape[after], shape[after - 1]);
  const Tensor y = Tensor::empty(shape, dtype);
  launch(kernels::OneHot{ids, y.view(around_axis(shape, place))});
  return y;
} catch (Error& error) {
  rethrow_from("one_hot", error);
}

}  // namespace lockstep
