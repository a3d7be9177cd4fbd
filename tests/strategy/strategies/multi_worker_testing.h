#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/workers.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep::test {

/// A strategy of several workers; see support/workers.h.
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
  /// Throws InputError on the last worker, after the others have left earlier collectives.
  void fail_on_last_worker() const {
    if (cluster_->rank() != last_) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    fail<InputError>("the picture is torn");
  }
  /// Checks that `call` fails on all workers: on the last worker with an error of type E, on the others with
  /// WorkerFailed. All messages must contain `text`.
  template <class E = InputError>
  void expect_end_on_all(const std::string& text, const std::function<void()>& call) const {
    if (cluster_->rank() == last_)
      EXPECT_ERROR(E, text, call());
    else
      EXPECT_THAT(error_of<WorkerFailed>(call),
                  testing::AllOf(testing::HasSubstr(fmt::format("worker {} (host ", last_)), testing::HasSubstr(text)));
  }
  /// Checks that `call`, which throws an E that has `text` on the last worker alone, throws on the others, too, that
  /// all errors name that worker, and that the cluster stays usable.
  template <class E = InvalidArgument>
  void expect_report_on_all(const std::string& text, const std::function<void()>& call) const {
    SCOPED_TRACE(text);
    EXPECT_THAT(cluster_->rank() == last_ ? error_of<E>(call) : error_of<InvalidArgument>(call),
                testing::AllOf(testing::HasSubstr(fmt::format("worker {} (host ", last_)), testing::HasSubstr(text)));
    EXPECT_NO_THROW(cluster_->all_gather("the next collective", ""));
  }
  void train_on(const DistributedDataset& batches) const {
    for (const DistributedBatch& batch : batches.epoch())
      strategy_.run([](const Batch&) { return get_replica_context().all_reduce(ReduceOp::sum, 1.0); }, batch);
  }

  const MultiWorkerMirroredStrategy strategy_ = workers();
  Cluster* const cluster_ = strategy_.state()->cluster();
  const int last_ = cluster_ ? cluster_->size() - 1 : 0;
  const int local_ = strategy_.num_local_replicas();
  const int all_ = strategy_.num_replicas_in_sync();
  const int first_ = strategy_.state()->first_replica();
};

}  // namespace lockstep::test
