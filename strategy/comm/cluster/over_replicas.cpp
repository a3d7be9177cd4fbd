#include "lockstep/strategy/comm/cluster/over_replicas.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/comm/combine.h>

namespace lockstep {

Tensor combine(Cluster* workers, std::string_view place, ReduceOp op, std::span<const Tensor> values) {
  if (!workers) return combine(op, values);
  const std::int64_t terms = static_cast<std::int64_t>(values.size()) * workers->size();
  const Tensor own =
      report_on_failure(workers, [&] { return combine(op == ReduceOp::mean ? ReduceOp::sum : op, values); });
  return all_reduce_over(*workers, place, op, own, terms);
}

IndexedSlices combine(Cluster* workers, std::string_view place, ReduceOp op, std::span<const IndexedSlices> values) {
  const Shape& shape = values.front().dense_shape;
  std::vector<Tensor> rows;
  std::vector<Tensor> indices;
  report_on_failure(workers, [&] {
    require<Unsupported>(op == ReduceOp::sum || op == ReduceOp::mean,
                         "{} of IndexedSlices is a sum or a mean, not {}; make them dense first", place, name(op));
    for (std::size_t replica = 0; replica < values.size(); ++replica) {
      check_shapes(values[replica]);
      require(values[replica].dense_shape == shape,
              "{} needs slices of one dense shape, replica 0 has {}, replica {} {}", place, values[0].text(), replica,
              values[replica].text());
      rows.push_back(make_dense(values[replica].values));
      indices.push_back(make_dense(values[replica].indices));
    }
  });
  if (workers) workers->agree(place, "the dense shape is", shape.text());
  const IndexedSlices joined{gather_values(workers, place, rows, 0), gather_values(workers, place, indices, 0), shape};
  if (op == ReduceOp::sum) return joined;
  const std::int64_t replicas = static_cast<std::int64_t>(values.size()) * (workers ? workers->size() : 1);
  const ContextScope there(context_on(joined.values.device()));  // the host if there are several workers
  visit_reducible(op, joined.values.dtype(), [&]<class T>() {
    T* const all = joined.values.data<T>();
    const T* const in = all;
    launch(kernels::Reduce{
        op,
        ReduceViews<T>{
            .in = std::span(&in, 1), .out = std::span(&all, 1), .count = joined.values.elements(), .terms = replicas}});
  });
  return joined;
}

Tensor gather_values(Cluster* workers, std::string_view place, std::span<const Tensor> values, int axis) {
  const Tensor own = report_on_failure(workers, [&] { return gather_values(values, axis); });
  return workers ? all_gather_over(*workers, place, own, axis).value : own;
}

std::vector<double> gather_values(Cluster* workers, std::string_view place, std::span<const double> numbers) {
  if (!workers) return {numbers.begin(), numbers.end()};
  std::vector<double> all;
  for (const std::vector<double>& of_worker : gather_numbers(*workers, place, numbers))
    all.insert(all.end(), of_worker.begin(), of_worker.end());
  return all;
}

DType check_same_dtype(Cluster* workers, std::string_view place, std::span<const Tensor> values) {
  const DType dtype = report_on_failure(workers, [&] {
    const DType first = values.front().dtype();
    for (std::size_t replica = 0; replica < values.size(); ++replica)
      require(values[replica].dtype() == first, "{} needs values of one dtype, replica 0 has {}, replica {} has {}",
              place, values.front(), replica, values[replica]);
    return first;
  });
  // Workers of other dtypes are at this place, too, in the next collective, with another text.
  if (workers && dtype == DType::bf16) workers->agree(place, "the dtype is", name(dtype));
  return dtype;
}

Tensor weighted_mean(Cluster* workers, std::string_view place, std::span<const Tensor> values,
                     std::span<const double> weights) {
  const std::vector<double> all = gather_values(workers, place, weights);
  const bool equal = std::ranges::all_of(all, [&](double weight) { return weight == all.front(); });
  if (equal && all.front() > 0) return combine(workers, place, ReduceOp::mean, values);
  const NoGradientScope not_recorded;
  const DType dtype = check_same_dtype(workers, place, values);
  const DType wide = dtype == DType::bf16 ? DType::f32 : dtype;  // bf16 is summed and divided in f32, and rounded once
  std::vector<Tensor> weighted;
  report_on_failure(workers, [&] {
    for (std::size_t i = 0; i < values.size(); ++i)
      weighted.push_back(weights[i] > 0 ? cast(values[i], wide) * weights[i] : Tensor::zeros(values[i].shape(), wide));
  });
  const Tensor total = combine(workers, place, ReduceOp::sum, weighted);
  return cast(total / std::accumulate(all.begin(), all.end(), 0.0), dtype);
}

}  // namespace lockstep
