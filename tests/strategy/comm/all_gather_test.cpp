#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

#include "replicas_and_ops.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class AllGather : public test::ReplicasAndOps {
 protected:
  const std::int64_t count_ = replicas_;

  /// The result of all_gather of make(replica) on all replicas.
  template <class Make>
  Tensor gathered(const Make& make, int axis) const {
    const auto results = strategy_.run([&] {
      const ReplicaContext context = get_replica_context();
      return context.all_gather(make(context.replica_id_in_sync_group()), axis);
    });
    for (const Tensor& other : results.local_results()) test::expect_same_bits(other, results[0]);
    return results[0];
  }
};

/// `values`, repeated `times` times.
std::vector<float> repeated(const std::vector<float>& values, int times) {
  std::vector<float> result;
  for (int i = 0; i < times; ++i) result.insert(result.end(), values.begin(), values.end());
  return result;
}

TEST_P(AllGather, JoinsAlongAnyAxis) {
  // semantics 4.3: on every replica. TF case 31: testGatherPerReplicaDense1D..3D; TF case 48: testAllGatherSameShape
  const auto line = [](int) { return Tensor::from(std::vector<float>{1, 2, 3}, {3}); };
  EXPECT_EQ(gathered(line, 0).to_vector<float>(), repeated({1, 2, 3}, replicas_));
  const auto row = [](int) { return Tensor::from(std::vector<float>{1, 2, 3}, {1, 3}); };
  EXPECT_EQ(gathered(row, 0).shape(), Shape({count_, 3}));
  EXPECT_EQ(gathered(row, 0).to_vector<float>(), repeated({1, 2, 3}, replicas_));
  EXPECT_EQ(gathered(row, 1).shape(), Shape({1, 3 * count_}));
  EXPECT_EQ(gathered(row, 1).to_vector<float>(), repeated({1, 2, 3}, replicas_));
  const auto block = [](int) { return Tensor::from(std::vector<float>{1, 2, 1, 2}, {1, 2, 2}); };
  EXPECT_EQ(gathered(block, 0).shape(), Shape({count_, 2, 2}));
  EXPECT_EQ(gathered(block, 0).to_vector<float>(), repeated({1, 2, 1, 2}, replicas_));
  EXPECT_EQ(gathered(block, 1).shape(), Shape({1, 2 * count_, 2}));
  EXPECT_EQ(gathered(block, 1).to_vector<float>(), repeated({1, 2}, 2 * replicas_));
  EXPECT_EQ(gathered(block, 2).shape(), Shape({1, 2, 2 * count_}));
  EXPECT_EQ(gathered(block, 2).to_vector<float>(), repeated({1, 2}, 2 * replicas_));
}

TEST_P(AllGather, CountsNegativeAxesFromTheEnd) {
  // semantics 4.3, better than TensorFlow's range error
  const auto block = [](int replica) { return test::random_tensor({2, 3}, 1U + static_cast<unsigned>(replica)); };
  test::expect_same_bits(gathered(block, -1), gathered(block, 1));
  test::expect_same_bits(gathered(block, -2), gathered(block, 0));
}

TEST_P(AllGather, TakesDifferentSizesAlongTheAxis) {
  // semantics 4.3: sizes along axis may differ. TF case 32: testGatherDiffShapeAtAxis0/1
  const std::int64_t sum = count_ * (count_ + 1) / 2;
  test::expect_same_bits(gathered([](int r) { return Tensor::full({r + 1, 1}, 1); }, 0), Tensor::full({sum, 1}, 1));
  test::expect_same_bits(gathered([](int r) { return Tensor::full({1, r + 1}, 1); }, 1), Tensor::full({1, sum}, 1));
  // Some parts are empty; results are in replica order.
  const Tensor odd = gathered([](int r) { return Tensor::full({r % 2, 2}, r, DType::i64); }, 0);
  std::vector<std::int64_t> expected;
  for (int r = 1; r < replicas_; r += 2) expected.insert(expected.end(), 2, r);
  EXPECT_EQ(odd.to_vector<std::int64_t>(), expected);
}

TEST_P(AllGather, TakesEveryDtypeAndSlices) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean})
    EXPECT_EQ(gathered([dtype](int r) { return Tensor::full({1}, r % 2, dtype); }, 0).dtype(), dtype);
  const auto slice = [](int r) { return test::strided_copy(Tensor::full({2, 2}, r)); };
  const auto dense = [](int r) { return Tensor::full({2, 2}, r); };
  test::expect_same_bits(gathered(slice, 1), gathered(dense, 1));
}

TEST_P(AllGather, GathersSeveralAtOnce) {
  // TF case 34: testAllGatherNest
  const auto results = strategy_.run([] {
    return get_replica_context().all_gather(std::vector{Tensor::full({1, test::this_replica() + 1}, 1),
                                                        Tensor::from(std::vector<float>{1, 2, 1, 2}, {1, 2, 2})},
                                            1);
  });
  for (const auto& own : results.local_results()) {
    test::expect_same_bits(own[0], Tensor::full({1, count_ * (count_ + 1) / 2}, 1));
    EXPECT_EQ(own[1].shape(), Shape({1, 2 * count_, 2}));
    EXPECT_EQ(own[1].to_vector<float>(), repeated({1, 2}, 2 * replicas_));
  }
}

TEST_P(AllGather, RefusesWhatHasNoSuchAxisAndWorksAfterwards) {
  // semantics 2.6, 4.3: refuse scalars clearly; 12.12: axis out of range; 12.15: IndexedSlices
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    EXPECT_ERROR(InvalidArgument, "which scalars do not have", context.all_gather(Tensor::full({}, 1), 0));
    EXPECT_ERROR(InvalidArgument, "axis 2", context.all_gather(Tensor::zeros({1, 1}), 2));
    EXPECT_ERROR(InvalidArgument, "undefined", context.all_gather(Tensor(), 0));
    // TF case 33: testGatherRaiseSparse
    const IndexedSlices sparse{Tensor::zeros({1, 2}), Tensor::zeros({1}, DType::i64), {4, 2}};
    EXPECT_ERROR(Unsupported, "does not support IndexedSlices", context.all_gather(sparse, 0));
    EXPECT_EQ(context.all_gather(Tensor::zeros({2}), 0).elements(), 2 * replicas_);
  });
}

TEST_P(AllGather, RefusesShapesThatCannotBeJoinedAndNamesAllOfThem) {
  if (replicas_ == 1) return;
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    const int r = context.replica_id_in_sync_group();
    // semantics 12.14. TF case 33: testGatherRaiseDiffShapeAtNonAxis, testGatherRaiseDifferentRank
    EXPECT_THAT(test::error_of<InvalidArgument>([&] {
                  context.all_gather(Tensor::zeros({1, r == 0 ? 1 : 2}), 0);
                }),
                AllOf(HasSubstr("f32 (1, 1)" + test::on_device(0)), HasSubstr("f32 (1, 2)" + test::on_device(1))));
    const Shape shapes[] = {{1}, {1, 2}};
    EXPECT_THAT(test::error_of<InvalidArgument>([&] { context.all_gather(Tensor::zeros(shapes[r == 0 ? 0 : 1]), 0); }),
                AllOf(HasSubstr("rank"), HasSubstr("f32 (1)" + test::on_device(0)),
                      HasSubstr("f32 (1, 2)" + test::on_device(1))));
    EXPECT_THAT(test::error_of<InvalidArgument>(
                    [&] { context.all_gather(Tensor::zeros({1}, r == 0 ? DType::i32 : DType::i64), 0); }),
                AllOf(HasSubstr("i32 (1)" + test::on_device(0)), HasSubstr("i64 (1)" + test::on_device(1))));
    EXPECT_ERROR(InvalidArgument, "the same axis on every replica, got 0, 1",
                 context.all_gather(Tensor::zeros({2, 2}), r == 0 ? 0 : 1));
    EXPECT_EQ(context.all_gather(Tensor::zeros({2}), 0).elements(), 2 * replicas_);
  });
}

TEST_P(AllGather, GradientIsTheOwnSliceOfTheSummedGradients) {
  // semantics 4.3: all_gather's gradient is the SUM all_reduce of dy, then the own slice
  const std::int64_t rows = count_ * (count_ + 1) / 2;
  const auto gradients = strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    const int r = context.replica_id_in_sync_group();
    const Tensor x = Tensor::full({2, r + 1}, 1);
    // On replica r, column c has the weight (r + 1) * (c + 1).
    std::vector<float> weights;
    for (std::int64_t i = 0; i < 2 * rows; ++i) weights.push_back(static_cast<float>((r + 1) * (i % rows + 1)));
    GradientTape tape;
    tape.watch(x);
    const Tensor target = sum(context.all_gather(x, -1) * Tensor::from(weights, {2, rows}));
    return tape.gradient(target, std::vector{x}).front();
  });
  std::int64_t offset = 0;
  for (int r = 0; r < replicas_; ++r) {
    ASSERT_EQ(gradients[r].shape(), Shape({2, r + 1}));
    std::vector<double> expected;
    for (int i = 0; i < 2 * (r + 1); ++i) expected.push_back(static_cast<double>(rows * (offset + i % (r + 1) + 1)));
    test::expect_close(gradients[r], expected, replicas_);
    offset += r + 1;
  }
}

INSTANTIATE_OVER_REPLICAS_AND_OPS(AllGather);

// semantics 14.3: ones(r+1), weighted by [1,10,100] and by (r+1), summed
TEST(AllGatherOfTwo, HasTheWorkedExamplesGradients) {
  const auto gradients = test::mirrored(2).run([] {
    const ReplicaContext context = get_replica_context();
    const double scale = context.replica_id_in_sync_group() + 1;
    const Tensor x = Tensor::full({context.replica_id_in_sync_group() + 1}, 1);
    GradientTape tape;
    tape.watch(x);
    const Tensor weights = Tensor::from(std::vector<float>{1, 10, 100}, {3});
    return tape.gradient(sum(context.all_gather(x, 0) * weights) * scale, std::vector{x}).front().to_vector<float>();
  });
  EXPECT_EQ(gradients[0], std::vector<float>{3});
  EXPECT_EQ(gradients[1], (std::vector<float>{30, 300}));
}

}  // namespace
}  // namespace lockstep
