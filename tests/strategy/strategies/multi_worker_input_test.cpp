#include <algorithm>
#include <atomic>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/input/batch_split.h>
#include <lockstep/strategy/input/distributed_dataset.h>

#include "multi_worker_testing.h"

// The input of several workers; see support/workers.h.

namespace lockstep {
namespace {

using test::MultiWorker;

TEST_F(MultiWorker, WorkersTakeTheirRowsOfEachGlobalBatch) {
  std::vector<std::int64_t> numbers(23);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  const Dataset set = Dataset::from_tensors(Tensor::from(numbers, {23})).shuffle({.seed = 3}).batch(7);
  std::vector<std::int64_t> expected;
  for (const Batch& batch : set.epoch()) {
    const auto rows = batch.x().to_vector<std::int64_t>();
    expected.insert(expected.end(), rows.begin(), rows.end());
  }
  std::vector<std::int64_t> seen;
  std::vector<std::int64_t> sizes;
  for (const DistributedBatch& batch : strategy_.distribute(set).epoch()) {
    sizes.push_back(batch.global_size());
    const auto parts = strategy_.run([](const Batch& own) { return own.x(); }, batch);
    for (const std::int64_t row : strategy_.gather(parts, 0).to_vector<std::int64_t>()) seen.push_back(row);
  }
  EXPECT_EQ(seen, expected);  // the same order as in one process
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{7, 7, 7, 2}));
}

/// Workers that use each other's rows.
class MultiWorkerInput : public MultiWorker {
 protected:
  /// Counts the elements for which it is called.
  Example count(const Example& example, const ElementId& id) {
    ++elements_;
    const std::vector<std::int64_t> place{example.x().item<std::int64_t>(), static_cast<std::int64_t>(id.epoch),
                                          id.number};
    return {{Tensor::from(place, {3})}, {example.x()}};
  }
  /// 23 numbers, shuffled, then combined with their positions.
  Dataset placed() {
    std::vector<std::int64_t> numbers(23);
    std::iota(numbers.begin(), numbers.end(), 0);
    return Dataset::from_tensors(Tensor::from(numbers, {23}))
        .shuffle({.seed = 3})
        .map([this](const Example& example, const ElementId& id) { return count(example, id); });
  }
  RowTransform count_rows() {
    return RowTransform([this](const Batch& batch) {
      rows_ += batch.size();
      return batch;
    });
  }

  /// Checks that a pass gives the rows cut from whole batches. Returns the number of this worker's elements; a batch
  /// without rows for this worker counts one row.
  std::int64_t expect_the_rows_of(const Dataset& batches, const DistributeOptions& options = {}) {
    const LocalReplicas at{.in_sync = all_, .first = first_, .count = local_};
    std::vector<DistributedBatch> expected;
    elements_ = 0;
    for (const Batch& whole : batches.epoch(2)) expected.emplace_back(whole, at, options.shares);
    all_elements_ = elements_.exchange(0);
    rows_ = 0;
    std::int64_t own_rows = 0;
    std::size_t step = 0;
    for (const DistributedBatch& batch : strategy_.distribute(batches, options).epoch(2)) {
      const DistributedBatch& whole = expected.at(step++);
      EXPECT_EQ(batch.global_size(), whole.global_size());
      std::int64_t rows = 0;
      for (int replica = 0; replica < local_; ++replica) {
        test::expect_same_bits(value_for_replica(batch, replica).x(), value_for_replica(whole, replica).x());
        test::expect_same_bits(value_for_replica(batch, replica).y(), value_for_replica(whole, replica).y());
        rows += value_for_replica(batch, replica).size();
      }
      own_rows += std::max<std::int64_t>(1, rows);
    }
    EXPECT_EQ(step, expected.size());
    return own_rows;
  }

  std::atomic<std::int64_t> elements_{0};
  std::atomic<std::int64_t> rows_{0};
  std::int64_t all_elements_ = 0;  ///< of the pass
};

TEST_F(MultiWorkerInput, IsOnlyMadeForTheRowsOfTheWorker) {
  std::vector<double> shares(static_cast<std::size_t>(all_), 1.0);
  shares.back() = 3.5;
  for (const std::vector<double>& split : {std::vector<double>{}, shares}) {
    const Dataset batches = placed().batch(7).map(count_rows());
    for (const Dataset& set : {batches, batches.prefetch(), batches.skip(1).repeat(2), placed().repeat(2).batch(7),
                               placed().batch(7, true), placed().batch(11).take(2).prefetch(), placed().batch(22)}) {
      const std::int64_t own_rows = expect_the_rows_of(set, {.shares = split});
      EXPECT_EQ(elements_, own_rows);
      EXPECT_LT(own_rows, all_elements_);
    }
    const std::int64_t own_rows = expect_the_rows_of(batches.prefetch());
    EXPECT_EQ(rows_, own_rows);
  }
}

TEST_F(MultiWorkerInput, MayStayOnTheDevices) {
  const auto add = [](const Tensor& x, const ElementId& id) {
    return x + Tensor::scalar(static_cast<std::int64_t>(id.epoch * 1000) + id.number);
  };
  const RandomTransform placed_rows(
      [add](const Example& element, const ElementId& id) { return element.with_x(add(element.x(), id)); },
      [add](const Batch& rows, std::span<const ElementId> ids) {
        std::vector<Tensor> sums;
        for (std::size_t i = 0; i < ids.size(); ++i)
          sums.push_back(
              add(rows.x().slice_view(0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1), ids[i]));
        return rows.with_x(concatenate(sums, 0));
      });
  std::vector<std::int64_t> numbers(23);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Tensor x = Tensor::from(numbers, {23});
  const Dataset batches =
      Dataset::from_tensors(x, x).shuffle({.seed = 3}).map(placed_rows).batch(7).map(count_rows()).prefetch();
  expect_the_rows_of(batches, {.cache_on_devices = true});
  std::int64_t own_rows = 0;
  for (const std::int64_t rows : {7, 7, 7, 2})
    for (int replica = first_; replica < first_ + local_; ++replica)
      own_rows += std::max<std::int64_t>(1, split_rows(rows, all_)[static_cast<std::size_t>(replica)]);
  EXPECT_EQ(rows_, own_rows) << "and an example for a part without rows";
}

TEST_F(MultiWorkerInput, IsMadeAsAWholeWhereAMapNeedsIt) {
  const auto reversed = [](const Batch& batch) {
    return batch.with_x(
        concatenate(std::vector{batch.x().slice_view(0, 1, batch.size()), batch.x().slice_view(0, 0, 1)}, 0));
  };
  expect_the_rows_of(placed().batch(7).map(reversed).prefetch());
  EXPECT_EQ(elements_, 23);
  expect_the_rows_of(placed().batch(7).shuffle({.seed = 1}));
  EXPECT_EQ(elements_, 23);
}

TEST_F(MultiWorkerInput, ThatFailsOnOneWorkerEndsTheTrainingOnAll) {
  const auto fails_at_the_end = [](const Example& example, const ElementId& id) {
    require<InputError>(id.number != 15, "the picture is torn");
    return example;
  };
  const Dataset batches = placed().map(fails_at_the_end).batch(8);  // the last row belongs to the last worker
  expect_end_on_all("map, element 15: the picture is torn", [&] { train_on(strategy_.distribute(batches)); });
}

TEST_F(MultiWorkerInput, MadeAsAWholeThatFailsOnOneWorkerEndsTheTrainingOnAll) {
  const auto fails = [&](const Batch& batch) {
    fail_on_last_worker();
    return batch;
  };
  const Dataset batches = placed().batch(8).map(fails);
  expect_end_on_all("map, element 0: the picture is torn", [&] { train_on(strategy_.distribute(batches)); });
}

TEST_F(MultiWorkerInput, ThatDoesNotStartOnOneWorkerEndsTheTrainingOnAll) {
  const Dataset rows = placed();
  const auto make = [&](std::uint64_t epoch) {
    fail_on_last_worker();
    return rows.epoch(epoch);
  };
  const Dataset batches = Dataset::from_generator(make).batch(8);
  expect_end_on_all("the picture is torn", [&] { train_on(strategy_.distribute(batches)); });
}

TEST_F(MultiWorkerInput, ThatOneWorkerDoesNotMakeEndsTheTrainingOnAll) {
  const auto make = [&](const InputContext&) {
    fail_on_last_worker();
    return placed().batch(2);
  };
  expect_end_on_all("the picture is torn", [&] { train_on(strategy_.distribute_from_function(make)); });
}

TEST_F(MultiWorkerInput, ThatIsEmptyOnOneWorkerEndsTheTrainingOnAll) {
  const auto make = [&](const InputContext&) { return placed().batch(2).take(cluster_->rank() == last_ ? 0 : 4); };
  expect_end_on_all("this worker's data set is empty", [&] { train_on(strategy_.distribute_from_function(make)); });
}

TEST_F(MultiWorkerInput, ThatHasABatchWithoutRowsOnOneWorkerAfterTheOthersEndsOnAll) {
  const auto make = [&](const InputContext&) {
    const Dataset sizes = Dataset::from_tensors(Tensor::from(std::vector<std::int64_t>{2, 0}, {2}));
    return sizes.take(cluster_->rank() == last_ ? 2 : 1).map([](const Example& size) {
      return Example{{Tensor::zeros({size.x().item<std::int64_t>()})}};
    });
  };
  DistributedIterator pass =
      strategy_.distribute_from_function(make, {.replication_mode = ReplicationMode::per_replica}).epoch();
  EXPECT_EQ(pass.next().value().global_size(), 2 * all_);
  expect_report_on_all("a batch of the data set has no rows", [&] { pass.next(); });
  EXPECT_FALSE(pass.next().has_value());
}

// semantics 10.4: all workers continue until every one is at its end
TEST_F(MultiWorker, WorkersWithDataSetsOfTheirOwnGoOnUntilNoneHasAny) {
  const DistributedDataset set = strategy_.distribute_from_function([&](const InputContext& context) {
    EXPECT_EQ(context.num_input_pipelines, cluster_->size());
    EXPECT_EQ(context.input_pipeline_id, cluster_->rank());
    EXPECT_EQ(context.num_replicas_in_sync, all_);
    const std::int64_t rows = 2 * local_ * (1 + context.input_pipeline_id);
    return Dataset::from_tensors(Tensor::full({rows, 1}, 1)).batch(2);
  });
  EXPECT_EQ(set.size(), cluster_->size());
  std::int64_t steps = 0;
  float rows = 0;
  for (const DistributedBatch& batch : set.epoch()) {
    const auto sums = strategy_.run([](const Batch& own) { return sum(own.x()); }, batch);
    const float here = strategy_.reduce(ReduceOp::sum, sums).item<float>();
    EXPECT_EQ(static_cast<float>(batch.global_size()), here);
    rows += here;
    ++steps;
  }
  EXPECT_EQ(steps, cluster_->size());
  EXPECT_EQ(rows, static_cast<float>(2 * local_ * cluster_->size() * (cluster_->size() + 1) / 2));
}

TEST_F(MultiWorker, SpeedsAreNotMeasured) {
  const Dataset set = Dataset::from_tensors(Tensor::zeros({8, 1})).batch(4);
  EXPECT_ERROR(Unsupported, "give their shares", strategy_.distribute(set, {.measure_steps = 2}));
}

}  // namespace
}  // namespace lockstep
