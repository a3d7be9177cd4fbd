#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/extended.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/reduce/reducer.h>
#include <lockstep/strategy/strategies/verify.h>

#include "multi_worker_testing.h"

// Run by several workers; see support/workers.h.

namespace lockstep {
namespace {

using test::MultiWorker;
using testing::AllOf;
using testing::HasSubstr;

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

TEST_F(MultiWorker, MayWaitWithoutALimit) {
  constexpr auto longest = std::chrono::milliseconds::max();
  const MultiWorkerMirroredStrategy patient(logical_cpus(local_), {.timeout = longest, .silence_limit = longest});
  const auto sums = patient.run([&] {
    const ReplicaContext context = get_replica_context();
    if (context.replica_id_in_sync_group() == all_ - 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return context.all_reduce(ReduceOp::sum, 1.0);
  });
  EXPECT_EQ(sums[0].item<float>(), static_cast<float>(all_));
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

TEST_F(MultiWorker, ValuesOfOneWorkerThatCannotBeCombinedAreToldOnAllAndEndNothing) {
  const bool is_last = cluster_->rank() == last_;
  const auto values = [&](const auto& usual, const auto& of_last) {
    return PerReplica(std::vector(static_cast<std::size_t>(local_), is_last ? of_last : usual));
  };
  const Tensor one = Tensor::full({1}, 1);
  const std::string not_dense = "the values to combine must be dense, replica 0 has";
  expect_report_on_all(not_dense, [&] { strategy_.reduce("SUM", values(one, Tensor())); });
  expect_report_on_all(not_dense, [&] {
    const auto reduce = [](const Strategy& strategy, const PerReplica<Tensor>& all) { strategy.reduce("SUM", all); };
    strategy_.run([&] { get_replica_context().merge_call(reduce, std::tuple(is_last ? Tensor() : one)); });
  });
  const PerReplica too_many(std::vector(static_cast<std::size_t>(local_ + (is_last ? 1 : 0)), one));
  expect_report_on_all("reduce() got values of", [&] { strategy_.reduce("SUM", too_many); });
  for (const DType dtype : {DType::f32, DType::bf16})
    expect_report_on_all<Unsupported>("takes sum or mean, got", [&] {
      const Tensor own = Tensor::full({1}, 1, dtype);
      strategy_.reduce(is_last ? ReduceOp::max : ReduceOp::sum, values(own, own), {0});
    });
  expect_report_on_all("scalars cannot be joined", [&] { strategy_.gather(values(one, Tensor::full({}, 1)), 0); });

  expect_report_on_all("replica 0 has -1", [&] { strategy_.weighted_mean(values(one, one), values(1.0, -1.0)); });
  const auto counts = per_replica([](int id) { return static_cast<double>(id + 1); });
  expect_report_on_all<Error>("", [&] { strategy_.weighted_mean(values(one, Tensor()), counts); });

  const Tensor row = Tensor::from(std::vector<std::int64_t>{0}, {1});
  const IndexedSlices slices{Tensor::full({1, 2}, 1), row, {3, 2}};
  const IndexedSlices of_two_rows{Tensor::full({2, 2}, 1), row, {3, 2}};
  const std::string do_not_fit = "1 indices of rows of";
  expect_report_on_all(do_not_fit, [&] { strategy_.reduce("SUM", values(slices, of_two_rows)); });
  expect_report_on_all(do_not_fit, [&] {
    strategy_.reduce("SUM", values(DenseOrSparse(Tensor::zeros({3, 2})), DenseOrSparse(of_two_rows)));
  });
}

// semantics 10.4: variables start with the chief's values
TEST_F(MultiWorker, VariablesStartWithTheChiefsBits) {
  const double nearly = cluster_->rank() == 0 ? 1.0 : 1.0 + 1e-6;  // as if another processor rounded differently
  const Variable v = variable("v", nearly);
  test::expect_same_bits(v.value(), Tensor::full({3}, 1.0));
}

TEST_F(MultiWorker, VariablesMayStartWithValuesThatAreNotFinite) {
  for (const float value : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()})
    test::expect_same_bits(variable("best", value).value(), Tensor::full({3}, value));
  for (const bool is_infinite : {cluster_->is_chief(), !cluster_->is_chief()})
    EXPECT_ERROR(InvalidArgument, "element 0 starts as ",
                 variable("best", is_infinite ? std::numeric_limits<double>::infinity() : 1.0));
}

TEST_F(MultiWorker, OtherSeedsAreRefusedWhenTheFirstVariableIsMade) {
  EXPECT_THAT(test::error_of<InvalidArgument>([&] { variable("kernel", cluster_->rank()); }),
              AllOf(HasSubstr("worker 1"), HasSubstr("'kernel'"), HasSubstr("seed")));
  EXPECT_EQ(variable("v", 2).value().to_vector<float>().front(), 2);
}

TEST_F(MultiWorker, AnInitializerThatFailsOnOneWorkerEndsTheCreationOnAll) {
  const VariableSpec spec{.name = "v", .shape = {3}, .initializer = [&](const Tensor& out) {
                            fail_on_last_worker();
                            copy(Tensor::zeros({3}), out);
                          }};
  expect_end_on_all("the picture is torn", [&] { strategy_.scope([&] { return Variable(spec); }); });
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

TEST_F(MultiWorker, VerifyNamesTheWorkerWhoseReplicasDifferOnAll) {
  if (local_ == 1) return;
  const Variable v = variable("v", 0);
  if (cluster_->rank() == last_) copy(Tensor::full({3}, 1), v.state().copies()[1]);
  EXPECT_THAT(test::error_of<BrokenInvariant>([&] { verify_mirrored(std::vector{v}, cluster_); }),
              AllOf(HasSubstr(fmt::format("worker {} (host ", last_)),
                    HasSubstr("the copies of 'v' differ: element 0 is 0 on replica 0 and 1 on replica 1")));
  v.assign(0);
  EXPECT_NO_THROW(verify_mirrored(std::vector{v}, cluster_));
}

TEST_F(MultiWorker, AVerificationThatFailsOnOneWorkerEndsOnAll) {
  std::vector<Variable> variables{variable("v", 0)};
  // Cannot be read, like a copy on a device that has failed.
  if (cluster_->rank() == last_) variables.emplace_back();
  expect_end_on_all<LogicError>("this variable has no value", [&] {
    cluster_->all_gather("all have made v", "");
    verify_mirrored(variables, cluster_);
  });
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

// semantics 12.18, 12.22: so that all replicas are as many for each worker
TEST_F(MultiWorker, WorkersWithDifferentNumbersOfReplicasAreRefused) {
  EXPECT_THAT(test::error_of<InvalidArgument>(
                  [&] { MultiWorkerMirroredStrategy{logical_cpus(cluster_->rank() == 1 ? 2 : 1)}; }),
              AllOf(HasSubstr("number of replicas on each worker is 1 on worker 0"), HasSubstr("2 on worker 1")));
}

TEST_F(MultiWorker, ReplicasThatProvideGradientsInDifferentWaysAreTold) {
  if (local_ == 1) return;
  const Variable v = variable("v", 0);
  GradientReducer reducer({v}, strategy_.devices());
  cluster_->all_gather("all have made v", "");
  const auto step = [&] {
    const ReplicaContext context = get_replica_context();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // all other workers have left all_gather by now
    if (context.local_replica() == 0) {
      GradientTape tape;
      reducer.backward(context, tape, sum(v.value()), GradientReducer::AfterBackward::apply);
    } else {
      reducer.load(context, std::vector<DenseOrSparse>{Tensor::zeros({3})});
    }
    reducer.apply(context, [](const UpdateViews&) {});
  };
  EXPECT_ERROR(LogicError, "the replicas provide their gradients in different ways", strategy_.run(step));
}

TEST_F(MultiWorker, AReplicaThatFailsAfterAnErrorOfAllWorkersEndsTheStepOnAll) {
  const auto step = [&] {
    const ReplicaContext context = get_replica_context();
    if (context.local_replica() == 0) try {
        cluster_->agree("here", "the color is", cluster_->rank() == last_ ? "blue" : "red");
      } catch (const InvalidArgument&) {  // thrown on all workers
      }
    context.local_barrier("the end of agree");
    if (context.replica_id_in_sync_group() == all_ - 1) fail<InputError>("the picture is torn");
    context.all_reduce(ReduceOp::sum, 1.0);
  };
  expect_end_on_all("the picture is torn", [&] { strategy_.run(step); });
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
