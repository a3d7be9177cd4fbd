#include <atomic>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/runtime/memory/allocator.h>

#include "input_testing.h"

// Data sets whose tensors are kept on the replicas' devices.

namespace lockstep {
namespace {

using test::mirrored;
using test::random_tensor;
using test::range;
using test::steps_of;

constexpr DistributeOptions on_devices{.cache_on_devices = true};

/// 23 rows of two inputs, a target and weights, of several dtypes.
Batch rows_23() {
  const Tensor bytes = Tensor::zeros({23, 3, 2}, DType::u8);
  const Tensor flags = Tensor::zeros({23}, DType::boolean);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 23; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) bytes.span<std::uint8_t>()[6 * i + j] = static_cast<std::uint8_t>(11 * i + j);
    flags.span<bool>()[i] = i % 3 == 0;
    labels.push_back(i << 33);
  }
  return {{random_tensor({23, 4}, 1), bytes, flags}, {Tensor::from(labels, {23})}, {random_tensor({23}, 2)}};
}

/// Adds numbers that depend on the element's position to the first input.
RandomTransform with_noise(float scale) {
  const auto noise = [scale](const ElementId& id) {
    return scale * static_cast<float>(100 * id.epoch + static_cast<std::uint64_t>(id.number));
  };
  return {[noise](const Example& element, const ElementId& id) {
            return element.with_x(element.x() + static_cast<double>(noise(id)));
          },
          [noise](const Batch& rows, std::span<const ElementId> ids) {
            std::vector<float> values;
            for (const ElementId& id : ids) values.push_back(noise(id));
            return rows.with_x(rows.x() + Tensor::from(values, {rows.size(), 1}));
          }};
}

RowTransform doubled() {
  return RowTransform([](const Example& rows) { return rows.with_x(rows.x() * 2.0); });
}

std::vector<Tensor> tensors_of(const Batch& batch) {
  std::vector<Tensor> tensors;
  batch.each([&](const Tensor& tensor) { return tensors.emplace_back(tensor); });
  return tensors;
}

class ResidentRowsOver : public testing::TestWithParam<int> {
 protected:
  /// Checks that all parts of some passes are on the replicas' devices, with the bits that they have otherwise.
  void expect_same_steps(const Dataset& batches, DistributeOptions options = {}, std::int64_t most_steps = 100) const {
    const DistributedDataset copied = strategy_.distribute(batches, options);
    options.cache_on_devices = true;
    const DistributedDataset kept = strategy_.distribute(batches, options);
    EXPECT_EQ(kept.size(), copied.size());
    EXPECT_EQ(kept.dropped_rows(), copied.dropped_rows());
    for (const std::uint64_t epoch : {0U, 3U, 1U}) {
      DistributedIterator expected = copied.epoch(epoch);
      DistributedIterator pass = kept.epoch(epoch);
      for (std::int64_t step = 0; step < most_steps; ++step) {
        const auto wanted = expected.next();
        const auto found = pass.next();
        ASSERT_EQ(found.has_value(), wanted.has_value());
        if (!wanted) break;
        expect_same_parts(*found, *wanted);
      }
    }
  }

  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);

 private:
  void expect_same_parts(const DistributedBatch& found, const DistributedBatch& wanted) const {
    EXPECT_EQ(found.global_size(), wanted.global_size());
    for (int replica = 0; replica < replicas_; ++replica) {
      const std::vector<Tensor> actual = tensors_of(found.part(replica));
      const std::vector<Tensor> expected = tensors_of(wanted.part(replica));
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) {
        test::expect_same_bits(actual[i], expected[i]);
        if (actual[i].device().kind == DeviceKind::gpu) {
          EXPECT_EQ(actual[i].device(), strategy_.devices()[static_cast<std::size_t>(replica)]);
        }
      }
    }
  }
};

TEST_P(ResidentRowsOver, AreThoseOfEveryOrder) {
  const Dataset set = Dataset::from_tensors(rows_23());
  const ShuffleOptions parts{.seed = 4, .fixed_parts = true};
  for (const Dataset& batches :
       {set.batch(6), set.batch(6, true), set.shuffle({.seed = 3}).batch(7),
        set.shuffle({.seed = 3, .buffer = 5}).batch(7), set.take(9).batch(4), set.skip(9).shuffle().batch(4).prefetch(),
        set.shuffle(parts).take(10).batch(4), set.shuffle(parts).skip(10).batch(4), set.shuffle().repeat(2).batch(9),
        set.batch(5).shuffle({.seed = 2}), set.shuffle({.seed = 1}).batch(4).repeat(2).skip(2)})
    expect_same_steps(batches);
  expect_same_steps(set.shuffle({.seed = 1}).repeat().batch(7), {}, 9);
}

TEST_P(ResidentRowsOver, AreTransformedOnTheirDevices) {
  const Dataset set = Dataset::from_tensors(rows_23());
  for (const Dataset& batches :
       {set.map(doubled()).batch(6), set.map(with_noise(1)).batch(6),
        set.map(with_noise(1)).shuffle({.seed = 1}).batch(6),
        set.shuffle({.seed = 1})
            .map(with_noise(2))
            .map(doubled())
            .map(with_noise(0.5))
            .batch(7)
            .map(doubled())
            .prefetch(),
        set.take(11).map(with_noise(1)).repeat(2).batch(3), set.shuffle().map(with_noise(1)).skip(2).batch(8, true)})
    expect_same_steps(batches);
  expect_same_steps(set.shuffle({.seed = 1}).map(with_noise(1)).repeat().batch(7), {}, 9);
}

TEST_P(ResidentRowsOver, ComeFromRowsAndCachesToo) {
  const Batch all = rows_23();
  const Dataset rows = Dataset::from_rows(
      [&](std::int64_t begin, std::int64_t end) {
        return all.each([&](const Tensor& tensor) { return tensor.slice_view(0, begin, end); });
      },
      23);
  std::atomic<int> made = 0;
  const Dataset counted = rows.map([&](const Example& element) {
    ++made;
    return element.with_x(element.x() * 3.0);
  });
  const test::TemporaryFolder folder;
  expect_same_steps(rows.shuffle().batch(6));
  for (const Dataset& cached : {counted.cache(), counted.shuffle({.seed = 8}).cache(folder / "cache")}) {
    expect_same_steps(cached.shuffle({.seed = 5}).map(with_noise(1)).batch(6));
    made = 0;
    const DistributedDataset kept = strategy_.distribute(cached.shuffle().batch(6), on_devices);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) (void)steps_of(kept, epoch);
    EXPECT_LE(made, 23);
  }
}

TEST_P(ResidentRowsOver, ComeFromCachesOfBatchesToo) {
  const Dataset set = Dataset::from_tensors(rows_23());
  for (const Dataset& batches : {set.batch(6).cache(), set.map(with_noise(1)).batch(6).cache().shuffle({.seed = 2}),
                                 set.shuffle({.seed = 3}).batch(7, true).map(doubled()).prefetch().cache().repeat(2)})
    expect_same_steps(batches);
}

TEST_P(ResidentRowsOver, FollowShares) {
  std::vector<double> shares(static_cast<std::size_t>(replicas_), 1.0);
  shares.back() = 3.5;
  expect_same_steps(Dataset::from_tensors(rows_23()).shuffle().map(with_noise(1)).batch(7), {.shares = shares});
  const DistributedDataset measured =
      strategy_.distribute(range(40).shuffle().batch(10), {.measure_steps = 1, .cache_on_devices = true});
  std::multiset<float> seen;
  for (const DistributedBatch& batch : measured.epoch())
    for (const Tensor& x : strategy_.run([](const Batch& own) { return own.x() * 1.0; }, batch).local_results())
      for (const float value : x.to_vector<float>()) seen.insert(value);
  EXPECT_EQ(seen.size(), 40U);
  EXPECT_EQ(std::set<float>(seen.begin(), seen.end()).size(), 40U);
}

TEST_P(ResidentRowsOver, AreViewsWhereTheyAreConsecutive) {
  const DistributedDataset kept = strategy_.distribute(range(14).batch(7), on_devices);
  const auto places = [&](std::uint64_t epoch) {
    std::vector<const void*> all;
    for (const DistributedBatch& batch : kept.epoch(epoch))
      for (const Batch& part : batch.local_results()) all.push_back(part.x().raw_data());
    return all;
  };
  EXPECT_EQ(places(0), places(1));
}

INSTANTIATE_TEST_SUITE_P(Replicas, ResidentRowsOver, testing::Values(1, 2, 3, 8));

TEST(ResidentRows, AreTakenOnceForEachPart) {
  std::atomic<int> calls = 0;
  const RowTransform counted([&](const Batch& rows) {
    ++calls;
    return rows;
  });
  const MirroredStrategy strategy = mirrored(2);
  DistributedIterator pass = strategy.distribute(range(8).batch(4).map(counted), on_devices).epoch();
  const DistributedBatch batch = *pass.next();
  EXPECT_EQ(calls, 0) << "in the step";
  const DistributedBatch copy = batch;
  for (int step = 0; step < 2; ++step) strategy.run([](const Batch& own) { return own.size(); }, copy);
  (void)batch.local_results();
  EXPECT_EQ(calls, 2);
}

TEST(ResidentRows, NeedStagesThatSelectRows) {
  const MirroredStrategy strategy = mirrored(2);
  const auto refused = [&](const Dataset& batches) {
    EXPECT_ERROR(InvalidArgument, "call cache() after its other stages",
                 (void)strategy.distribute(batches, on_devices));
  };
  const auto same = [](const Example& element) { return element; };
  const auto some = [](const Example& element) { return element.x().item<float>() > 2; };
  refused(range(8).map(same).batch(4));
  refused(range(8).batch(4).map(same));
  refused(range(8).filter(some).cache().batch(4));
  refused(Dataset::zip({range(8), range(8)}).batch(4));
  refused(Dataset::from_generator([](std::uint64_t epoch) { return range(8).epoch(epoch); }, 8).batch(4));
  EXPECT_EQ(steps_of(strategy.distribute(Dataset::zip({range(8), range(8)}).cache().batch(4), on_devices)),
            steps_of(strategy.distribute(range(8).batch(4))));
}

TEST(ResidentRows, NeedBatchesOfTheKeptRows) {
  const MirroredStrategy strategy = mirrored(2);
  const test::TemporaryFolder folder;
  const auto refused = [&](const Dataset& batches) {
    EXPECT_ERROR(InvalidArgument, "call batch() after from_tensors, from_rows and cache()",
                 (void)strategy.distribute(batches, on_devices));
  };
  refused(range(8));
  refused(range(8).shuffle().repeat());
  refused(range(8).batch(4).cache(folder / "cache"));
  refused(range(8).batch(4).cache(folder / "cache").shuffle().prefetch());
  refused(Dataset::zip({range(8), range(8)}).batch(4).cache());
  EXPECT_FALSE(std::filesystem::exists(folder / "cache"));
}

TEST(ResidentRows, NameWhatIsWrong) {
  const MirroredStrategy strategy = mirrored(2);
  const auto next = [&](const Dataset& batches) {
    const auto batch = strategy.distribute(batches, on_devices).epoch().next();
    if (batch) (void)batch->local_results();
  };
  EXPECT_ERROR(InvalidArgument, "map before batch()", next(range(8).batch(4).map(with_noise(1))));
  const RowTransform first([](const Batch& rows) { return Batch{{rows.x().slice_view(0, 0, 1)}}; });
  EXPECT_ERROR(InvalidArgument, "2 row(s) of a batch became 1", next(range(8).batch(4).map(first)));
  const auto torn = [](std::int64_t, std::int64_t) -> Batch { fail<InputError>("the file is torn"); };
  EXPECT_ERROR(InputError, "the file is torn", next(Dataset::from_rows(torn, 8).batch(4)));
  const auto too_few = [](std::int64_t, std::int64_t) { return Batch{{Tensor::zeros({3})}}; };
  EXPECT_ERROR(InputError, "cache_on_devices: 8 rows became f32 (3)", next(Dataset::from_rows(too_few, 8).batch(4)));
  EXPECT_FALSE(strategy.distribute(range(0).batch(4), on_devices).epoch().next().has_value());
}

}  // namespace
}  // namespace lockstep
