#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/strategy/reduce/reducer.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep {
namespace {

using test::this_replica;

constexpr std::int64_t rows = 23;
constexpr std::int64_t width = 5;
constexpr SgdStep half_step{.learning_rate = 0.5F};
constexpr AdamStep adam_step{.learning_rate = 0.1F};

/// Rows (r + 1) * i mod 23, so that some rows occur more than once, in one replica and across replicas; `count` may be
/// 0.
IndexedSlices slices_of(int replica, int count, std::uint64_t seed) {
  std::vector<std::int64_t> indices;
  for (int i = 0; i < count; ++i) indices.push_back((replica + 1) * i % rows);
  return {test::random_tensor({count, width}, seed + static_cast<std::uint64_t>(replica)),
          Tensor::from(indices, {count}),
          {rows, width}};
}

class Tables : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();

  static Variable table(const Strategy& strategy) {
    return strategy.scope([] { return test::variable_of("table", test::random_tensor({rows, width}, 1)); });
  }
  static Variable bias(const Strategy& strategy) {
    return strategy.scope([] { return test::variable_of("bias", test::random_tensor({3}, 2)); });
  }

  /// The table after three calls of `step` with gradients of `count(r)` rows on replica r, sparse or converted to
  /// dense.
  template <class Step, class Count>
  Tensor trained(const Strategy& strategy, const Step& step, std::size_t state_slots, bool every_row, bool by_rows,
                 const Count& count, bool own_copies = false) const {
    const Variable v = table(strategy);
    const Variable b = bias(strategy);
    GradientReducer reducer({v, b}, strategy.devices(),
                            {.slots = std::vector<float>(state_slots),
                             .by_rows = {by_rows, false},
                             .every_row = every_row,
                             .own_copies = own_copies || strategy.state()->gradient_update().updates_own_copy()});
    for (std::uint64_t number = 0; number < 3; ++number) {
      strategy.run([&] {
        const ReplicaContext context = get_replica_context();
        const IndexedSlices slices = slices_of(this_replica(), count(this_replica()), 100 * number);
        const DenseOrSparse gradient = by_rows ? DenseOrSparse(slices) : DenseOrSparse(to_dense(slices));
        reducer.load(context, std::vector{gradient, DenseOrSparse(Tensor::full({3}, 1))});
        reducer.apply(context, [&](const UpdateViews& views) { launch(kernels::Update{step, views}); });
      });
    }
    verify_mirrored(std::vector{v, b});
    return v.value();
  }
};

int nine(int) { return 9; }

// HierarchicalCopy adds dense gradients in another order than rows, which are always added in replica order.
TEST_P(Tables, AreUpdatedAsWithDenseGradientsToTheBit) {
  for (const CrossDeviceOps ops : {CrossDeviceOps::shared_memory, CrossDeviceOps::reduction_to_one_device}) {
    const MirroredStrategy strategy = test::mirrored(replicas_, ops);
    test::expect_same_bits(trained(strategy, half_step, 0, false, true, nine),
                           trained(strategy, half_step, 0, false, false, nine));
    test::expect_same_bits(trained(strategy, adam_step, 2, true, true, nine),
                           trained(strategy, adam_step, 2, true, false, nine));
  }
}

TEST_P(Tables, AreUpdatedTheSameByEveryWayOfCombining) {
  const Tensor expected = trained(test::mirrored(replicas_), adam_step, 2, true, true, nine);
  for (const CrossDeviceOps ops : test::host_cross_device_ops)
    test::expect_same_bits(trained(test::mirrored(replicas_, ops), adam_step, 2, true, true, nine), expected);
}

TEST_P(Tables, HeldOnceAreUpdatedAsMirroredOnes) {
  const CentralStorageStrategy central(logical_cpus(replicas_));
  test::expect_same_bits(trained(central, adam_step, 2, true, true, nine),
                         trained(test::mirrored(replicas_), adam_step, 2, true, true, nine));
}

// As if replicas could not access each other's memory.
TEST_P(Tables, UpdatedByEachReplicaForItselfAreUpdatedAsTogether) {
  const MirroredStrategy strategy = test::mirrored(replicas_);
  for (const bool every_row : {false, true})
    test::expect_same_bits(trained(strategy, adam_step, 2, every_row, true, nine, true),
                           trained(strategy, adam_step, 2, every_row, true, nine));
}

TEST_P(Tables, OfWhichReplicasLookUpDifferentNumbersOfRows) {
  const auto uneven = [](int replica) { return replica == 0 ? 4 : 30 * (replica % 2); };
  const MirroredStrategy strategy = test::mirrored(replicas_);
  test::expect_same_bits(trained(strategy, half_step, 0, false, true, uneven),
                         trained(strategy, half_step, 0, false, false, uneven));
}

// Some replicas look up rows, one reads the whole table, one does not use it.
TEST_P(Tables, TakeWhateverGradientAReplicaHas) {
  const MirroredStrategy strategy = test::mirrored(replicas_);
  const Variable v = table(strategy);
  const Tensor before = v.value() * 1.0;
  GradientReducer reducer({v}, strategy.devices(), {.by_rows = {true}, .every_row = false});
  strategy.run([&] {
    const ReplicaContext context = get_replica_context();
    GradientTape tape;
    const int kind = this_replica() % 3;
    const Tensor other = Tensor::zeros({1}).as_parameter();
    const Tensor loss = kind == 0   ? sum(embedding_lookup(v.value(), Tensor::full({2}, 7, DType::i64)))
                        : kind == 1 ? sum(v.value())
                                    : sum(other);
    reducer.backward(context, tape, loss);
    reducer.apply(context, [](const UpdateViews& views) { launch(kernels::Update{half_step, views}); });
  });
  const int looked_up = (replicas_ + 2) / 3;
  const int whole = (replicas_ + 1) / 3;
  std::vector<double> expected = before.to_vector<double>();
  for (std::int64_t i = 0; i < rows * width; ++i)
    expected[static_cast<std::size_t>(i)] -= 0.5 * (whole + (i / width == 7 ? 2 * looked_up : 0));
  test::expect_close(v.value(), expected, replicas_ + 2);
  verify_mirrored(std::vector{v});
}

TEST_P(Tables, AloneWithoutAGradientAnywhereAreRefused) {
  const MirroredStrategy strategy = test::mirrored(replicas_);
  GradientReducer reducer({table(strategy)}, strategy.devices(), {.by_rows = {true}, .every_row = false});
  EXPECT_ERROR(InvalidArgument, "no gradients provided", strategy.run([&] {
    reducer.load(get_replica_context(), std::vector<DenseOrSparse>{Tensor()});
    reducer.apply(get_replica_context(), [](const UpdateViews&) {});
  }));
}

TEST_P(Tables, GivenTwiceAreRefused) {
  const MirroredStrategy strategy = test::mirrored(replicas_);
  const Variable v = table(strategy);
  EXPECT_ERROR(InvalidArgument, "variable 'table' is given twice",
               (void)GradientReducer({v, v}, strategy.devices(), {.by_rows = {true, true}}));
}

TEST_P(Tables, BelongToTheLastReducer) {
  const MirroredStrategy strategy = test::mirrored(replicas_);
  const Variable v = table(strategy);
  const std::vector<float> before = v.value().to_vector<float>();
  GradientReducer first({v}, strategy.devices(), {.by_rows = {true}});
  const GradientReducer second({v}, strategy.devices(), {.by_rows = {true}});
  EXPECT_EQ(v.value().to_vector<float>(), before);
  EXPECT_ERROR(LogicError, "taken over by another optimizer", strategy.run([&] {
    first.load(get_replica_context(), std::vector<DenseOrSparse>{slices_of(this_replica(), 2, 1)});
  }));
}

TEST_P(Tables, RefuseRowsOfAnotherTable) {
  const MirroredStrategy strategy = test::mirrored(replicas_);
  GradientReducer reducer({table(strategy)}, strategy.devices(), {.by_rows = {true}, .every_row = false});
  const IndexedSlices other{Tensor::zeros({1, width}), Tensor::zeros({1}, DType::i64), {rows + 1, width}};
  EXPECT_ERROR(InvalidArgument, "of 'table', must be f32 (23, 5), got 1 rows of f32 (24, 5)",
               strategy.run([&] { reducer.load(get_replica_context(), std::vector<DenseOrSparse>{other}); }));
}

TEST_P(Tables, RefuseRowsThatTheyDoNotHave) {
  const MirroredStrategy strategy = test::mirrored(replicas_);
  GradientReducer reducer({table(strategy)}, strategy.devices(), {.by_rows = {true}, .every_row = false});
  for (const std::int64_t row : {std::int64_t{-1}, rows}) {
    const IndexedSlices beyond{
        Tensor::zeros({2, width}), Tensor::from(std::vector{row, std::int64_t{3}}, {2}), {rows, width}};
    EXPECT_ERROR(InvalidArgument, "the variable rows 0 to 22",
                 strategy.run([&] { reducer.load(get_replica_context(), std::vector<DenseOrSparse>{beyond}); }));
  }
}

INSTANTIATE_TEST_SUITE_P(Replicas, Tables, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
