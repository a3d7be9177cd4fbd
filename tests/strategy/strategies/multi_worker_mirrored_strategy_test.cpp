#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>
#include <support/workers.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/extended.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/input/batch_split.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/verify.h>

// Run by several workers; see support/workers.h.

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class MultiWorker : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(cluster_, nullptr) << "start this program with mpirun"; }

  /// Calls f(global replica number) for each replica of this worker.
  template <class F>
  auto per_replica(const F& f) const {
    return strategy_.values_from_function([&](const ValueContext& at) { return f(at.replica_id_in_sync_group); });
  }
  Variable variable(const std::string& name, double value, Synchronization synchronization = Synchronization::on_write,
                    Aggregation aggregation = Aggregation::none) const {
    const auto inside = strategy_.scope();
    return Variable({.name = name,
                     .shape = {3},
                     .initializer = [value](const Tensor& out) { copy(Tensor::full({3}, value), out); },
                     .synchronization = synchronization,
                     .aggregation = aggregation});
  }

  const MultiWorkerMirroredStrategy strategy_ = test::workers();
  Cluster* const cluster_ = strategy_.state()->cluster();
  const int local_ = strategy_.num_local_replicas();
  const int all_ = strategy_.num_replicas_in_sync();
  const int first_ = strategy_.state()->first_replica();
};

// semantics 10.4: global replica ids, worker * D + local
TEST_F(MultiWorker, ReplicasHaveNumbersAmongThoseOfAllWorkers) {
  EXPECT_EQ(local_, test::replicas_on_each());
  EXPECT_EQ(all_, local_ * cluster_->size());
  EXPECT_EQ(first_, local_ * cluster_->rank());
  EXPECT_EQ(strategy_.is_chief(), cluster_->rank() == 0);
  const PerReplica<int> ids = strategy_.run([] { return get_replica_context().replica_id_in_sync_group(); });
  ASSERT_EQ(ids.size(), local_);
  for (int replica = 0; replica < local_; ++replica) EXPECT_EQ(ids[replica], first_ + replica);
  EXPECT_EQ(strategy_.run([] { return get_replica_context().num_replicas_in_sync(); })[0], all_);
}

// semantics 2.14
TEST_F(MultiWorker, TheClusterResolverNamesTheWorkers) {
  const std::optional<ClusterSpec> spec = strategy_.cluster_resolver();
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->size(), cluster_->size());
  EXPECT_EQ(spec->rank, cluster_->rank());
  EXPECT_EQ(spec->task_type(), "worker");
  EXPECT_EQ(spec->addresses.front(), cluster_->host_of(0));
}

TEST_F(MultiWorker, AllReduceCombinesTheReplicasOfAllWorkers) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min}) {
      if (op == ReduceOp::mean && (dtype == DType::i32 || dtype == DType::i64)) continue;
      const auto results = strategy_.run([&] {
        const ReplicaContext context = get_replica_context();
        return context.all_reduce(op, Tensor::full({2, 301}, context.replica_id_in_sync_group() + 1, dtype));
      });
      const double sum = all_ * (all_ + 1) / 2.0;
      const double expected = op == ReduceOp::sum    ? sum
                              : op == ReduceOp::mean ? sum / all_
                              : op == ReduceOp::max  ? all_
                                                     : 1;
      for (const Tensor& result : results.local_results())
        test::expect_same_bits(result, Tensor::full({2, 301}, expected, dtype));
    }
}

TEST_F(MultiWorker, AllReduceGivesTheSameBitsOnAllWorkers) {
  const auto results = strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    return context.all_reduce(
        ReduceOp::sum, test::random_tensor({1001}, 10U + static_cast<unsigned>(context.replica_id_in_sync_group())));
  });
  const std::vector<float> values = results[0].to_vector<float>();
  const std::string bits(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  cluster_->agree("the comparison of bits", "the sum is", bits);
  for (const Tensor& other : results.local_results()) test::expect_same_bits(other, results[0]);
}

TEST_F(MultiWorker, AllReduceHasItsGradient) {
  const auto gradients = strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    GradientTape tape;
    const Tensor x = Tensor::full({2}, 1);
    tape.watch(x);
    const Tensor y = context.all_reduce(ReduceOp::sum, x) * static_cast<double>(context.replica_id_in_sync_group());
    return tape.gradient(sum(y), std::vector{x})[0];
  });
  const double expected = all_ * (all_ - 1) / 2.0;
  for (const Tensor& gradient : gradients.local_results())
    test::expect_same_bits(gradient, Tensor::full({2}, expected));
}

TEST_F(MultiWorker, AllGatherJoinsPartsOfAnySizeInReplicaOrder) {
  const auto results = strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    const int id = context.replica_id_in_sync_group();
    return context.all_gather(Tensor::full({2, id}, id, DType::i64), 1);
  });
  std::vector<std::int64_t> expected;
  for (int row = 0; row < 2; ++row)
    for (int id = 0; id < all_; ++id) expected.insert(expected.end(), static_cast<std::size_t>(id), id);
  for (const Tensor& result : results.local_results()) {
    EXPECT_EQ(result.shape(), (Shape{2, all_ * (all_ - 1) / 2}));
    EXPECT_EQ(result.to_vector<std::int64_t>(), expected);
  }
}

TEST_F(MultiWorker, AMeetingIsOneOfAllReplicas) {
  std::atomic<int> here = 0;
  strategy_.run([&] {
    ++here;
    get_replica_context().barrier("the middle");
    EXPECT_EQ(here, local_);
  });
  EXPECT_THAT(test::error_of<LogicError>([&] {
                strategy_.run([&] { get_replica_context().barrier(cluster_->rank() == 1 ? "the end" : "the middle"); });
              }),
              AllOf(HasSubstr("worker 0"), HasSubstr("is at the middle"), HasSubstr("is at the end")));
}

TEST_F(MultiWorker, SparseValuesAreJoined) {
  const auto results = strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    const std::int64_t id = context.replica_id_in_sync_group();
    const IndexedSlices own{Tensor::full({1, 2}, 1), Tensor::from(std::vector<std::int64_t>{id}, {1}), {all_, 2}};
    return to_dense(context.all_reduce(ReduceOp::sum, own));
  });
  for (const Tensor& result : results.local_results()) test::expect_same_bits(result, Tensor::full({all_, 2}, 1));
}

TEST_F(MultiWorker, ValuesThatDoNotFitAreToldOnAllWorkersAndEndNothing) {
  const std::string message = test::error_of<InvalidArgument>([&] {
    strategy_.run([&] {
      return get_replica_context().all_reduce(ReduceOp::sum, Tensor::zeros({cluster_->rank() == 1 ? 3 : 2}));
    });
  });
  EXPECT_THAT(message, AllOf(HasSubstr("worker 0"), HasSubstr("(2)"), HasSubstr("worker 1"), HasSubstr("(3)")));
  EXPECT_EQ(strategy_.run([&] { return get_replica_context().all_reduce(ReduceOp::sum, 1.0); })[0].item<float>(),
            static_cast<float>(all_));
}

// semantics 10.4: reduce over the workers
TEST_F(MultiWorker, ReduceAndGatherTakeTheValuesOfAllWorkers) {
  const auto values = per_replica([](int id) { return Tensor::full({id + 1, 2}, id + 1); });
  const auto scalars = per_replica([](int id) { return Tensor::full({}, id + 1); });
  const double sum = all_ * (all_ + 1) / 2.0;
  EXPECT_EQ(strategy_.reduce(ReduceOp::sum, scalars).item<float>(), static_cast<float>(sum));
  EXPECT_FLOAT_EQ(strategy_.reduce(ReduceOp::mean, scalars).item<float>(), static_cast<float>(sum / all_));
  double squares = 0;
  for (int id = 1; id <= all_; ++id) squares += id * id;
  EXPECT_FLOAT_EQ(strategy_.reduce(ReduceOp::mean, values, {0}).to_vector<float>().front(),
                  static_cast<float>(squares / sum));
  const Tensor gathered = strategy_.gather(values, 0);
  EXPECT_EQ(gathered.shape(), (Shape{static_cast<std::int64_t>(sum), 2}));
  EXPECT_EQ(gathered.to_vector<float>().back(), static_cast<float>(all_));
  const auto counts = per_replica([](int id) { return static_cast<double>(id + 1); });
  EXPECT_FLOAT_EQ(strategy_.weighted_mean(scalars, counts).item<float>(), static_cast<float>(squares / sum));
}

// semantics 10.4: variables start with the chief's values
TEST_F(MultiWorker, VariablesStartWithTheChiefsBits) {
  const double nearly = cluster_->rank() == 0 ? 1.0 : 1.0 + 1e-6;  // as if another processor rounded differently
  const Variable v = variable("v", nearly);
  test::expect_same_bits(v.value(), Tensor::full({3}, 1.0));
}

TEST_F(MultiWorker, OtherSeedsAreRefusedWhenTheFirstVariableIsMade) {
  EXPECT_THAT(test::error_of<InvalidArgument>([&] { variable("kernel", cluster_->rank()); }),
              AllOf(HasSubstr("worker 1"), HasSubstr("'kernel'"), HasSubstr("seed")));
  EXPECT_EQ(variable("v", 2).value().to_vector<float>().front(), 2);
}

TEST_F(MultiWorker, OtherModelsAreRefusedWhenTheFirstVariableIsMade) {
  EXPECT_THAT(test::error_of<InvalidArgument>([&] { variable(cluster_->rank() == 1 ? "bias" : "kernel", 0); }),
              AllOf(HasSubstr("'kernel'"), HasSubstr("'bias'"), HasSubstr("worker 1")));
}

TEST_F(MultiWorker, AssignmentsInReplicasAreCombinedOverAllWorkers) {
  const Variable mean = variable("mean", 0, Synchronization::on_write, Aggregation::mean);
  const Variable first = variable("first", 0, Synchronization::on_write, Aggregation::only_first_replica);
  const Variable same = variable("same", 0);
  strategy_.run([&] {
    const int id = get_replica_context().replica_id_in_sync_group();
    mean.assign(Tensor::full({3}, id));
    first.assign(Tensor::full({3}, id + 5));
    same.assign(Tensor::full({3}, 7));
  });
  test::expect_same_bits(mean.value(), Tensor::full({3}, (all_ - 1) / 2.0));
  test::expect_same_bits(first.value(), Tensor::full({3}, 5));
  test::expect_same_bits(same.value(), Tensor::full({3}, 7));
  const std::vector<Variable> variables{mean, first, same};
  EXPECT_NO_THROW(verify_mirrored(variables, cluster_));
}

TEST_F(MultiWorker, WorkersThatAssignDifferentValuesAreTold) {
  const Variable v = variable("v", 0);
  EXPECT_THAT(
      test::error_of<InvalidArgument>([&] { strategy_.run([&] { v.assign(Tensor::full({3}, cluster_->rank())); }); }),
      AllOf(HasSubstr("worker 1"), HasSubstr("'v'")));
  EXPECT_NO_THROW(verify_mirrored(std::vector{v}, cluster_));
}

TEST_F(MultiWorker, VerifyNamesTheWorkerThatDiffers) {
  const Variable a = variable("a", 0);
  const Variable b = variable("b", 0);
  b.assign(cluster_->rank());  // outside replicas, values are not combined
  EXPECT_THAT(test::error_of<BrokenInvariant>([&] {
                verify_mirrored(std::vector{a, b}, cluster_);
              }),
              AllOf(HasSubstr("'b'"), HasSubstr("worker 1")));
}

TEST_F(MultiWorker, VariablesOnReadAreCombinedOverAllWorkers) {
  const Variable total = variable("total", 0, Synchronization::on_read, Aggregation::sum);
  const Variable mean = variable("mean", 0, Synchronization::on_read, Aggregation::mean);
  strategy_.run([&] {
    const int id = get_replica_context().replica_id_in_sync_group();
    total.assign_add(Tensor::full({3}, id + 1));
    mean.assign(Tensor::full({3}, id));
  });
  test::expect_same_bits(total.value(), Tensor::full({3}, all_ * (all_ + 1) / 2));
  test::expect_same_bits(mean.value(), Tensor::full({3}, (all_ - 1) / 2.0));
  total.assign(Tensor::full({3}, 4.0 * all_));
  EXPECT_EQ(strategy_.local_results(total)[0].to_vector<float>().front(), 4);
  test::expect_same_bits(total.value(), Tensor::full({3}, 4.0 * all_));
}

TEST_F(MultiWorker, AMergeWorksForThisWorkersReplicas) {
  const auto results = strategy_.run([&] {
    return get_replica_context().merge_call(
        [&](const Strategy& strategy, const PerReplica<Tensor>& values) {
          EXPECT_EQ(values.size(), local_);
          return strategy.reduce(ReduceOp::sum, values);
        },
        std::tuple(Tensor::full({}, 1)));
  });
  EXPECT_EQ(results[0].item<float>(), static_cast<float>(all_));
}

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
  const auto train = [&] {
    for (const DistributedBatch& batch : strategy_.distribute(batches).epoch())
      strategy_.run([](const Batch&) { return get_replica_context().all_reduce(ReduceOp::sum, 1.0); }, batch);
  };
  const int last = cluster_->size() - 1;
  if (cluster_->rank() == last)
    EXPECT_ERROR(InputError, "map, element 15: the picture is torn", train());
  else
    EXPECT_THAT(test::error_of<WorkerFailed>(train), AllOf(HasSubstr(fmt::format("worker {} (host ", last)),
                                                           HasSubstr("map, element 15: the picture is torn")));
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

// semantics 12.18, 12.22: so that all replicas are as many for each worker
TEST_F(MultiWorker, WorkersWithDifferentNumbersOfReplicasAreRefused) {
  EXPECT_THAT(test::error_of<InvalidArgument>(
                  [&] { MultiWorkerMirroredStrategy{logical_cpus(cluster_->rank() == 1 ? 2 : 1)}; }),
              AllOf(HasSubstr("number of replicas on each worker is 1 on worker 0"), HasSubstr("2 on worker 1")));
}

TEST_F(MultiWorker, AFailingReplicaEndsTheStepOnAllWorkers) {
  const auto step = [&] {
    const ReplicaContext context = get_replica_context();
    if (context.replica_id_in_sync_group() == all_ - 1) {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(300));  // all other workers have created their strategies by now
      throw std::runtime_error("the cable is loose");
    }
    return context.all_reduce(ReduceOp::sum, 1.0);
  };
  if (cluster_->rank() == cluster_->size() - 1) {
    EXPECT_THAT(test::error_of<std::runtime_error>([&] { strategy_.run(step); }), HasSubstr("the cable is loose"));
  } else {
    EXPECT_THAT(
        test::error_of<WorkerFailed>([&] { strategy_.run(step); }),
        AllOf(HasSubstr("the cable is loose"), HasSubstr(fmt::format("worker {} (host ", cluster_->size() - 1))));
  }
  const auto message = [&](const auto& call) { return test::error_of<WorkerFailed>(call); };
  const auto run = [&] { strategy_.run([] { get_replica_context().all_reduce(ReduceOp::sum, 1.0); }); };
  const PerReplica<Tensor> zeros(std::vector<Tensor>(static_cast<std::size_t>(local_), Tensor::zeros({})));
  const auto reduce = [&] { strategy_.reduce("SUM", zeros); };
  const std::string of_run = message(run);
  const std::string of_reduce = message(reduce);
  EXPECT_THAT(of_run, HasSubstr("the cable is loose"));
  for (int call = 0; call < 3; ++call) {  // a later message must not contain text added by an earlier call
    EXPECT_EQ(message(run), of_run);
    EXPECT_EQ(message(reduce), of_reduce);
  }
}

}  // namespace
}  // namespace lockstep
