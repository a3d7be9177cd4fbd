#include "lockstep/strategy/comm/sparse_all_reduce.h"

#include <algorithm>
#include <string>

#include <fmt/ranges.h>

#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {
namespace {

constexpr std::int64_t is_dense = -1;

/// The kinds of all replicas' values: for each replica and value, the number of rows of a sparse value's dense shape,
/// or `is_dense`.
class Kinds {
 public:
  Kinds(Communicator& communicator, int replica, std::span<const DenseOrSparse> values)
      : values_(values.size()), rows_(exchange(communicator, replica, values)) {}

  std::int64_t replicas() const { return static_cast<std::int64_t>(rows_.size() / values_); }
  /// Whether value i is sparse on every replica. Throws InvalidArgument if their dense shapes differ in rows.
  bool all_sparse(std::size_t i) const {
    std::vector<std::int64_t> of_value;
    for (std::size_t at = i; at < rows_.size(); at += values_) of_value.push_back(rows_[at]);
    if (std::find(of_value.begin(), of_value.end(), is_dense) != of_value.end()) return false;
    require(std::count(of_value.begin(), of_value.end(), of_value.front()) == replicas(),
            "all_reduce of IndexedSlices needs the same dense shape on every replica, got {} rows",
            fmt::join(of_value, ", "));
    return true;
  }

 private:
  static std::vector<std::int64_t> exchange(Communicator& communicator, int replica,
                                            std::span<const DenseOrSparse> values) {
    std::vector<std::int64_t> own;
    for (const DenseOrSparse& value : values) {
      const auto* const slices = std::get_if<IndexedSlices>(&value);
      if (slices) check_shapes(*slices);
      own.push_back(slices ? slices->dense_shape[0] : is_dense);
    }
    const Tensor row = Tensor::from(own, {1, static_cast<std::int64_t>(own.size())});
    return communicator.all_gather(replica, row, 0).value.to_vector<std::int64_t>();
  }

  std::size_t values_;
  std::vector<std::int64_t> rows_;
};

/// value / replicas, rounded like a mean of dense values.
Tensor divided(const Tensor& value, std::int64_t replicas) {
  const Tensor dense = make_dense(value);
  const Tensor result = Tensor::empty(value.shape(), value.dtype());
  reduce_range(ReduceOp::mean, std::span(&dense, 1), std::span(&result, 1), {0, value.elements()}, replicas);
  return result;
}

void check_has_no_gradient(const DenseOrSparse& value) {
  const auto* const dense = std::get_if<Tensor>(&value);
  const Tensor& watched = dense ? *dense : std::get<IndexedSlices>(value).values;
  require<Unsupported>(
      !recording({watched}),
      "all_reduce of IndexedSlices has no gradient; call it outside the tape or on to_dense() of them");
}

}  // namespace

std::vector<DenseOrSparse> all_reduce(Communicator& communicator, int replica, ReduceOp op,
                                      std::span<const DenseOrSparse> values) {
  for (const DenseOrSparse& value : values) check_has_no_gradient(value);
  if (values.empty()) return {};
  const Kinds kinds(communicator, replica, values);
  std::vector<std::size_t> dense_places;
  std::vector<Tensor> dense;
  std::vector<std::size_t> sparse_places;
  std::vector<Tensor> sparse;  // values and indices alternate
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!kinds.all_sparse(i)) {
      dense_places.push_back(i);
      dense.push_back(as_dense(values[i]));
      continue;
    }
    require<Unsupported>(op == ReduceOp::sum || op == ReduceOp::mean,
                         "all_reduce of IndexedSlices is a sum or a mean, not {}; make them dense first", name(op));
    sparse_places.push_back(i);
    sparse.push_back(std::get<IndexedSlices>(values[i]).values);
    sparse.push_back(std::get<IndexedSlices>(values[i]).indices);
  }

  std::vector<DenseOrSparse> results(values.size());
  if (!dense.empty()) {
    const std::vector<Tensor> reduced = communicator.all_reduce(replica, op, dense);
    for (std::size_t i = 0; i < reduced.size(); ++i) results[dense_places[i]] = reduced[i];
  }
  if (!sparse.empty()) {
    const std::vector<Gathered> joined = communicator.all_gather(replica, sparse, 0);
    for (std::size_t i = 0; i < sparse_places.size(); ++i) {
      const Tensor& rows = joined[2 * i].value;
      results[sparse_places[i]] =
          IndexedSlices{op == ReduceOp::mean ? divided(rows, kinds.replicas()) : rows, joined[2 * i + 1].value,
                        std::get<IndexedSlices>(values[sparse_places[i]]).dense_shape};
    }
  }
  return results;
}

}  // namespace lockstep
