#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/runtime/autograd/tape.h>

#include "replicas_and_ops.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

IndexedSlices slices(const std::vector<float>& values, const std::vector<std::int64_t>& indices, std::int64_t rows) {
  const auto n = static_cast<std::int64_t>(values.size());
  return {Tensor::from(values, {n, 1}), Tensor::from(indices, {n}), {rows, 1}};
}

class SparseAllReduce : public test::ReplicasAndOps {
 protected:
  const float count_ = static_cast<float>(replicas_);
};

TEST_P(SparseAllReduce, JoinsInReplicaOrderWithoutAddingUp) {
  // semantics 7.4: IndexedSlices; lengths may differ: replica r brings r + 1 rows r, and all have the index 2
  const auto results = strategy_.run([] {
    const int r = test::this_replica();
    const std::size_t n = static_cast<std::size_t>(r) + 1;
    const IndexedSlices own = slices(std::vector<float>(n, static_cast<float>(r)), std::vector<std::int64_t>(n, 2), 5);
    return get_replica_context().all_reduce("sum", own);
  });
  std::vector<float> expected;
  float sum = 0;
  for (int r = 0; r < replicas_; ++r) {
    expected.insert(expected.end(), static_cast<std::size_t>(r) + 1, static_cast<float>(r));
    sum += static_cast<float>(r * (r + 1));
  }
  for (const IndexedSlices& own : results.local_results()) {
    EXPECT_EQ(own.values.to_vector<float>(), expected);
    EXPECT_EQ(own.indices.to_vector<std::int64_t>(), std::vector<std::int64_t>(expected.size(), 2));
    EXPECT_EQ(own.dense_shape, Shape({5, 1}));
    EXPECT_EQ(to_dense(own).to_vector<float>(), (std::vector<float>{0, 0, sum, 0, 0}));
  }
}

TEST_P(SparseAllReduce, OfAListKeepsTheOrderOfDenseAndSparse) {
  // TF case 47: testAllReduceMixedDenseAndSparse, and testAllReduceSparse with MEAN
  const auto reduced = [&](ReduceOp op) {
    return strategy_.run([op] {
      const std::vector<DenseOrSparse> values{slices({1}, {0}, 5), Tensor::full({}, 1), slices({3}, {2}, 5),
                                              Tensor::full({}, 2)};
      return get_replica_context().all_reduce(op, values);
    });
  };
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
    const auto results = reduced(op);
    const float times = op == ReduceOp::sum ? count_ : 1;
    for (const std::vector<DenseOrSparse>& own : results.local_results()) {
      test::expect_close(to_dense(std::get<IndexedSlices>(own[0])), {times, 0, 0, 0, 0}, replicas_);
      EXPECT_EQ(std::get<Tensor>(own[1]).item<float>(), times);
      test::expect_close(to_dense(std::get<IndexedSlices>(own[2])), {0, 0, 3 * times, 0, 0}, replicas_);
      EXPECT_EQ(std::get<Tensor>(own[3]).item<float>(), 2 * times);
    }
  }
}

TEST_P(SparseAllReduce, MeansDivideTheValues) {
  // semantics 7.1, 7.4: MEAN = divided by R, sparse: values divided
  const auto results = strategy_.run([] {
    return get_replica_context().all_reduce("mean", slices({1, 2, 3, 4}, {0, 0, 2, 2}, 3));
  });
  for (const float value : {1.0F, 2.0F, 3.0F, 4.0F})
    EXPECT_THAT(results[0].values.to_vector<float>(), testing::Contains(value / count_).Times(replicas_));
  EXPECT_EQ(results[0].values.elements(), 4 * replicas_);
}

TEST_P(SparseAllReduce, IsDenseWhereAReplicaIsDense) {
  // semantics 4.1, better: TensorFlow fails on dense here and sparse there
  const auto results = strategy_.run([] {
    const bool dense = test::this_replica() == 0;
    const std::vector<DenseOrSparse> values{dense ? DenseOrSparse(Tensor::full({3, 1}, 10)) : slices({1, 1}, {1, 1}, 3),
                                            slices({7}, {0}, 3)};
    return get_replica_context().all_reduce(ReduceOp::sum, values);
  });
  for (const std::vector<DenseOrSparse>& own : results.local_results()) {
    EXPECT_EQ(std::get<Tensor>(own[0]).to_vector<float>(), (std::vector<float>{10, 10 + 2 * (count_ - 1), 10}));
    EXPECT_EQ(std::get<IndexedSlices>(own[1]).values.elements(), replicas_);
  }
}

TEST_P(SparseAllReduce, OfNoRowsIsNoRows) {
  const auto results = strategy_.run([] { return get_replica_context().all_reduce("sum", slices({}, {}, 4)); });
  EXPECT_EQ(results[0].values.shape(), Shape({0, 1}));
  test::expect_same_bits(to_dense(results[0]), Tensor::zeros({4, 1}));
}

TEST_P(SparseAllReduce, RefusesWhatItCannotDoAndWorksAfterwards) {
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    const IndexedSlices own = slices({1}, {0}, 3);
    EXPECT_ERROR(Unsupported, "a sum or a mean, not max", context.all_reduce("max", own));
    EXPECT_ERROR(InvalidArgument, "need values of (1, 2)",
                 context.all_reduce("sum", IndexedSlices{own.values, own.indices, {3, 2}}));
    {
      // semantics 4.1: IndexedSlices allowed but not differentiable
      GradientTape tape;
      tape.watch(own.values);
      EXPECT_ERROR(Unsupported, "has no gradient", context.all_reduce("sum", own));
    }
    EXPECT_EQ(context.all_reduce("sum", own).values.elements(), replicas_);
  });
}

TEST_P(SparseAllReduce, RefusesShapesThatDiffer) {
  if (replicas_ == 1) return;
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    const int r = context.replica_id_in_sync_group();
    EXPECT_ERROR(InvalidArgument, "the same dense shape on every replica, got 3, 4",
                 context.all_reduce("sum", slices({1}, {0}, r == 0 ? 3 : 4)));
    EXPECT_ERROR(InvalidArgument, "f32 (1, 2)" + test::on_device(1),
                 context.all_reduce("sum", IndexedSlices{Tensor::zeros({1, r == 1 ? 2 : 1}),
                                                         Tensor::zeros({1}, DType::i64),
                                                         {3, r == 1 ? 2 : 1}}));
    EXPECT_ERROR(InvalidArgument, "i64 (1, 2)" + test::on_device(1),
                 context.all_reduce("sum", std::vector<DenseOrSparse>(r == 1 ? 2 : 1, slices({1}, {0}, 3))));
    EXPECT_EQ(context.all_reduce("sum", slices({1}, {0}, 3)).values.elements(), replicas_);
  });
}

INSTANTIATE_OVER_REPLICAS_AND_OPS(SparseAllReduce);

// semantics 14.4: replica r holds rows 0..r, each of value r+1
TEST(SparseAllReduceOfTwo, IsTheWorkedExample) {
  for (const auto& [op, values] : {std::pair{"SUM", std::vector<float>{1, 2, 2}}, {"MEAN", {0.5F, 1, 1}}}) {
    const auto results = test::mirrored(2).run([op = op] {
      return get_replica_context().all_reduce(
          op, test::this_replica() == 0 ? slices({1}, {0}, 2) : slices({2, 2}, {0, 1}, 2));
    });
    for (const IndexedSlices& own : results.local_results()) {
      EXPECT_EQ(own.indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 0, 1}));
      EXPECT_EQ(own.values.to_vector<float>(), values);
    }
  }
}

// TF case 50: testDivideIndexedSlices, by two replicas of which one has no rows
TEST(SparseAllReduceOfTwo, DividesAsTensorFlow) {
  const auto results = test::mirrored(2).run([] {
    const bool first = test::this_replica() == 0;
    const std::vector<float> values = first ? std::vector<float>{1, 2, 3, 4} : std::vector<float>{};
    const std::vector<std::int64_t> indices = first ? std::vector<std::int64_t>{0, 2} : std::vector<std::int64_t>{};
    const auto rows = static_cast<std::int64_t>(indices.size());
    return get_replica_context().all_reduce(
        "mean", IndexedSlices{Tensor::from(values, {rows, 2}), Tensor::from(indices, {rows}), {3, 2}});
  });
  EXPECT_EQ(to_dense(results[1]).to_vector<float>(), (std::vector<float>{0.5F, 1, 0, 0, 1.5F, 2}));
}

TEST(SparseAllReduceOfFour, FollowsTensorFlow) {
  // TF case 43: testReduceSparse
  const std::vector<IndexedSlices> of_replicas{slices({1, 2}, {0, 1}, 10), slices({3, 4}, {1, 2}, 10),
                                               slices({5, 6}, {7, 8}, 10), slices({7, 8}, {3, 2}, 10)};
  const auto results = test::mirrored(4).run(
      [](const IndexedSlices& own) { return get_replica_context().all_reduce("SUM", own); }, PerReplica(of_replicas));
  for (const IndexedSlices& own : results.local_results()) {
    EXPECT_EQ(own.values.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(own.indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 1, 2, 7, 8, 3, 2}));
  }
}

}  // namespace
}  // namespace lockstep
