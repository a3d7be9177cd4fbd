#include <memory>

#include "rows.h"

namespace lockstep::test {
namespace {

MirroredStrategy two() { return MirroredStrategy({"CPU:0", "CPU:1"}); }

PerReplica<Tensor> pair(const Shape& first, const Shape& second) {
  return PerReplica(std::vector{zeros(first), zeros(second)});
}

VariableSpec spec(const std::string& name = "v") {
  return {.name = name, .shape = {2}, .initializer = [](const Tensor& out) { copy(Tensor::zeros({2}), out); }};
}

/// A variable in a new strategy with two replicas.
Variable variable(VariableSpec of = spec()) {
  const MirroredStrategy strategy = two();
  return strategy.scope([&] { return Variable(of); });
}

/// Calls f in a replica of a strategy with two replicas.
void in_replica(const std::function<void(const Strategy&)>& f) {
  const MirroredStrategy strategy = two();
  strategy.run([&] { f(strategy); });
}

Rows device_rows() {
  using Devices = std::vector<LogicalDevice>;
  return {
      misuse<InvalidArgument>("MirroredStrategy", "no device", "a strategy needs at least one device",
                              [] { MirroredStrategy{Devices()}; }),
      misuse<InvalidArgument>("MirroredStrategy", "a device twice", "CPU:0 is named twice in [CPU:0, CPU:0]",
                              [] {
                                MirroredStrategy({"CPU:0", "CPU:0"});
                              }),
      misuse<InvalidArgument>("MirroredStrategy", "an unknown device",
                              "'TPU:0' names no device; write for example CPU:0 or GPU:1",
                              [] { MirroredStrategy({"TPU:0"}); }),
      misuse<InvalidArgument>("MirroredStrategy", "a GPU that is not there", "GPU:99 does not exist",
                              [] { MirroredStrategy({"GPU:99"}); }),
      misuse<InvalidArgument>("MirroredStrategy", "no time to wait", "the timeout must be positive, got 0 ms",
                              [] { MirroredStrategy(logical_cpus(2), {.timeout = std::chrono::milliseconds(0)}); }),
      misuse<InvalidArgument>("CentralStorageStrategy", "no device", "a strategy needs at least one device",
                              [] { CentralStorageStrategy{Devices()}; }),
      misuse<InvalidArgument>("CentralStorageStrategy", "a device twice", "CPU:0 is named twice in [CPU:0, CPU:0]",
                              [] {
                                CentralStorageStrategy(std::vector<std::string>{"CPU:0", "CPU:0"});
                              }),
      misuse<InvalidArgument>("MultiWorkerMirroredStrategy", "no device", "a strategy needs at least one device",
                              [] { MultiWorkerMirroredStrategy{Devices()}; }),
      misuse<InvalidArgument>("MultiWorkerMirroredStrategy", "a device twice", "CPU:0 is listed twice",
                              [] {
                                const LogicalDevice device = logical_cpus(1).front();
                                MultiWorkerMirroredStrategy({device, device});
                              }),
      misuse<InvalidArgument>(
          "MultiWorkerMirroredStrategy", "no time to wait",
          "the longest wait and silence of workers must be positive, got 0 ms and 30000 ms",
          [] { MultiWorkerMirroredStrategy(logical_cpus(2), {.timeout = std::chrono::milliseconds(0)}); }),
      misuse<LogicError>("MultiWorkerMirroredStrategy::scope", "inside that of another strategy",
                         "mixing different strategies: scope() was called inside the scope of a different strategy",
                         [] {
                           const MirroredStrategy other = two();
                           const auto inside = other.scope();
                           const auto second = MultiWorkerMirroredStrategy(logical_cpus(2)).scope();
                         }),
      misuse<InvalidArgument>("worker_devices", "no replica", "the number of replicas must be between 1 and 64, got 0",
                              [] { worker_devices(0); }),
      misuse<InvalidArgument>("parse_tf_config", "no JSON", "TF_CONFIG must be like {",
                              [] { parse_tf_config("worker 0 of 2"); }),
      misuse<InvalidArgument>("parse_tf_config", "a task that its cluster does not have",
                              "TF_CONFIG says that this task is worker 1, and names 1 of them",
                              [] {
                                parse_tf_config(R"({"cluster": {"worker": ["a:1"]},
                                                    "task": {"type": "worker", "index": 1}})");
                              }),
      misuse<Unsupported>("parse_tf_config", "a parameter server",
                          "TF_CONFIG names tasks of type 'ps': workers that train in step are 'chief' and 'worker'",
                          [] {
                            parse_tf_config(R"({"cluster": {"worker": ["a:1"], "ps": ["b:1"]},
                                                "task": {"type": "ps", "index": 0}})");
                          }),
      misuse<InvalidArgument>("OneDeviceStrategy", "an unknown device",
                              "CPU:64 does not exist; logical CPUs are CPU:0 .. CPU:63",
                              [] { OneDeviceStrategy("CPU:64"); }),
      misuse<InvalidArgument>("logical_cpus", "none", "the number of replicas must be between 1 and 64, got 0",
                              [] { logical_cpus(0); }),
      misuse<InvalidArgument>("parse_devices", "a limit of memory that is no number",
                              "'CPU:1@many' has no memory limit after its @; write for example CPU:1@64MiB",
                              [] {
                                const std::string name = "CPU:1@many";
                                parse_devices(std::span(&name, 1));
                              }),
  };
}

Rows moved_from_rows() {
  const char* const says = "this strategy has no value";
  return {
      misuse<LogicError>("Strategy::run", "moved from", says, [] { moved_from<Strategy>(two()).run([] {}); }),
      misuse<LogicError>("Strategy::scope", "moved from", says, [] { (void)moved_from<Strategy>(two()).scope(); }),
      misuse<LogicError>("Strategy::reduce", "moved from", says,
                         [] { moved_from<Strategy>(two()).reduce(ReduceOp::sum, pair({1}, {1})); }),
      misuse<LogicError>("Strategy::gather", "moved from", says,
                         [] { moved_from<Strategy>(two()).gather(pair({1}, {1}), 0); }),
      misuse<LogicError>("Strategy::num_replicas_in_sync", "moved from", says,
                         [] { (void)moved_from<Strategy>(two()).num_replicas_in_sync(); }),
      misuse<LogicError>("Strategy::clone", "moved from", says, [] { (void)moved_from<Strategy>(two()).clone(); }),
      misuse<LogicError>("Strategy::distribute", "moved from", says,
                         [] {
                           const Dataset data = Dataset::from_tensors(zeros({4, 1})).batch(2);
                           (void)moved_from<Strategy>(two()).distribute(data);
                         }),
      misuse<LogicError>("set_strategy", "moved from", says, [] { set_strategy(moved_from<Strategy>(two())); }),
      misuse<LogicError>("DistributedDataset::epoch", "moved from", "this distributed data set has no value",
                         [] {
                           const Dataset data = Dataset::from_tensors(zeros({4, 1})).batch(2);
                           (void)moved_from(two().distribute(data)).epoch();
                         }),
      misuse<LogicError>(
          "DistributedIterator::next", "moved from",
          "this pass over a distributed data set has no value: it has been moved from, or never been given one",
          [] {
            DistributedIterator pass = two().distribute(Dataset::from_tensors(zeros({4, 1})).batch(2)).epoch();
            const DistributedIterator other = std::move(pass);
            pass.next();  // NOLINT
          }),
      misuse<InvalidArgument>("PerReplica::operator[]", "a replica that is not there",
                              "there is no value for replica 2: these are of 2 replicas",
                              [] { (void)pair({1}, {1})[2]; }),
      misuse<LogicError>("Strategy::devices", "moved from", says, [] { (void)moved_from<Strategy>(two()).devices(); }),
      misuse<LogicError>("Strategy::distribute", "moved from", says,
                         [] {
                           moved_from<Strategy>(two()).distribute(Dataset::from_tensors(zeros({2, 2})).batch(2));
                         }),
  };
}

Rows value_rows() {
  return {
      misuse<InvalidArgument>("Strategy::run", "values for another number of replicas",
                              "an argument of run() has values for 1 replicas, the strategy has 2",
                              [] { two().run([](const Tensor&) {}, PerReplica(std::vector{zeros({1})})); }),
      misuse<InvalidArgument>("Strategy::reduce", "shapes that differ",
                              "the values to combine must have the same shape and dtype, replica 0 has f32 (1) on "
                              "CPU:0, replica 1 has f32 (2)",
                              [] { two().reduce(ReduceOp::sum, pair({1}, {2})); }),
      misuse<InvalidArgument>("Strategy::reduce", "an undefined tensor",
                              "the values to combine must be dense, replica 1 has an undefined tensor",
                              [] {
                                two().reduce(ReduceOp::sum, PerReplica(std::vector{zeros({1}), Tensor()}));
                              }),
      misuse<InvalidArgument>(
          "Strategy::reduce", "dtypes that differ",
          "the values to combine must have the same shape and dtype, replica 0 has f32 (1) on CPU:0, replica 1 has i64 "
          "(1)",
          [] {
            two().reduce(ReduceOp::sum, PerReplica(std::vector{zeros({1}), zeros({1}, DType::i64)}));
          }),
      misuse<InvalidArgument>("Strategy::reduce", "an unknown op",
                              "'median' is no reduction; choose sum, mean, max, min or prod",
                              [] { two().reduce("median", pair({1}, {1})); }),
      misuse<InvalidArgument>("Strategy::gather", "numbers",
                              "scalars cannot be joined along an axis: give them one first, got f32 () on CPU:0",
                              [] { two().gather(pair({}, {}), 0); }),
      misuse<InvalidArgument>("Strategy::gather", "an axis that is not there", "axis 2 is out of range for rank 1",
                              [] { two().gather(pair({1}, {1}), 2); }),
      misuse<InvalidArgument>("Strategy::gather", "undefined tensors", "got an undefined tensor",
                              [] { two().gather(PerReplica(std::vector<Tensor>(2)), 0); }),
      misuse<InvalidArgument>("Strategy::distribute", "shares for another number of replicas",
                              "1 batch shares [1] were given for 2 replica(s)",
                              [] {
                                (void)two().distribute(Dataset::from_tensors(zeros({4, 1})).batch(2), {.shares = {1}});
                              }),
      misuse<InvalidArgument>(
          "Strategy::distribute", "a negative buffer", "must not be negative, got -1",
          [] {
            (void)two().distribute(Dataset::from_tensors(zeros({4, 1})).batch(2), {.per_replica_buffer_size = -1});
          }),
      misuse<InvalidArgument>(
          "Strategy::distribute", "examples that are no batches",
          "the rows of a batch are split over replicas, a scalar has none: call batch() on the data set first",
          [] { two().distribute(Dataset::from_tensors(zeros({4}))).epoch().next(); }),
      misuse<InvalidArgument>("Strategy::distribute_from_function", "no function",
                              "distribute_from_function() needs a function",
                              [] { (void)two().distribute_from_function(nullptr); }),
      misuse<InvalidArgument>(
          "StrategyExtended::reduce_to", "values of different shapes",
          "the values to combine must have the same shape and dtype, replica 0 has f32 (2) on CPU:0",
          [] {
            two().extended().reduce_to(ReduceOp::sum, PerReplica<Tensor>(std::vector{zeros({2}), zeros({3})}), "CPU:0");
          }),
      misuse<InvalidArgument>("StrategyExtended::reduce_to", "an unknown reduction",
                              "'median' is no reduction; choose sum, mean, max, min or prod",
                              [] { two().extended().reduce_to("median", pair({1}, {1}), "CPU:0"); }),
      misuse<InvalidArgument>("StrategyExtended::reduce_to", "a device that is not there",
                              "CPU:99 does not exist; logical CPUs are CPU:0 .. CPU:63",
                              [] { two().extended().reduce_to(ReduceOp::sum, pair({1}, {1}), "CPU:99"); }),
      misuse<InvalidArgument>(
          "StrategyExtended::batch_reduce_to", "values of another number of replicas",
          "reduce() got values of 1 replicas, the strategy has 2",
          [] {
            two().extended().batch_reduce_to(ReduceOp::sum, {{PerReplica<Tensor>(std::vector{zeros({2})}), "CPU:0"}});
          }),
      misuse<InvalidArgument>("StrategyExtended::broadcast_to", "a tensor that was moved from",
                              "broadcast_to() takes a tensor, got an undefined one",
                              [] { two().extended().broadcast_to(moved_from(zeros({2})), "CPU:0"); }),
      misuse<InvalidArgument>("StrategyExtended::broadcast_to", "no device", "at least one device is needed",
                              [] { two().extended().broadcast_to(zeros({2}), std::vector<std::string>()); }),
  };
}

}  // namespace

Rows strategy_rows() { return joined({device_rows(), moved_from_rows(), value_rows()}); }

Rows replica_rows() {
  return {
      misuse<LogicError>("Strategy::run", "in a replica", "run() was called inside a replica",
                         [] { in_replica([](const Strategy& strategy) { strategy.run([] {}); }); }),
      misuse<LogicError>("Strategy::scope", "in a replica", "scope() was called inside a replica",
                         [] { in_replica([](const Strategy& strategy) { (void)strategy.scope(); }); }),
      misuse<LogicError>("Strategy::scope", "in another one's", "mixing different strategies: scope()",
                         [] {
                           const MirroredStrategy strategy = two();
                           const auto inside = strategy.scope();
                           (void)two().scope();
                         }),
      misuse<LogicError>("Strategy::run", "in another one's scope", "mixing different strategies: run()",
                         [] {
                           const MirroredStrategy strategy = two();
                           const auto inside = strategy.scope();
                           two().run([] {});
                         }),
      misuse<LogicError>("Strategy::reduce", "in a replica", "reduce() was called inside a replica",
                         [] { in_replica([](const Strategy& s) { s.reduce(ReduceOp::sum, pair({1}, {1})); }); }),
      misuse<LogicError>("Strategy::gather", "in a replica", "gather() was called inside a replica",
                         [] { in_replica([](const Strategy& s) { s.gather(pair({1}, {1}), 0); }); }),
      misuse<LogicError>(
          "get_replica_context", "in a scope",
          "there is no replica here: this is the strategy's scope; call it inside the function given to run()",
          [] {
            const MirroredStrategy strategy = two();
            const auto inside = strategy.scope();
            get_replica_context();
          }),
      misuse<LogicError>("ReplicaContext::all_reduce", "on another thread", "on another thread than that replica's",
                         [] {
                           in_replica([](const Strategy&) {
                             const ReplicaContext context = get_replica_context();
                             on_another_thread([&] { context.all_reduce(ReduceOp::sum, 1.0); });
                           });
                         }),
      misuse<LogicError>("ReplicaContext::merge_call", "on another thread", "on another thread than that replica's",
                         [] {
                           in_replica([](const Strategy&) {
                             const ReplicaContext context = get_replica_context();
                             on_another_thread([&] { context.merge_call([](const Strategy&) {}); });
                           });
                         }),
      misuse<LogicError>("ReplicaContext::all_reduce", "after run()", "on another thread than that replica's",
                         [] {
                           const MirroredStrategy strategy = two();
                           const auto contexts =
                               strategy.run([] { return std::make_shared<ReplicaContext>(get_replica_context()); });
                           contexts[0]->all_reduce(ReduceOp::sum, 1.0);
                         }),
      misuse<LogicError>("ReplicaContext::num_replicas_in_sync", "moved from", "this replica context has no value",
                         [] { (void)moved_from(get_replica_context()).num_replicas_in_sync(); }),
      misuse<InvalidArgument>("ReplicaContext::all_reduce", "shapes that differ",
                              "all_reduce needs the same op, shape and dtype on every replica, got sum of f32 (1)",
                              [] {
                                in_replica([](const Strategy&) {
                                  const ReplicaContext context = get_replica_context();
                                  context.all_reduce(ReduceOp::sum, zeros({context.local_replica() + 1}));
                                });
                              }),
      misuse<InvalidArgument>(
          "ReplicaContext::all_reduce", "an undefined tensor",
          "all_reduce takes tensors, got an undefined one from replica ",
          [] { in_replica([](const Strategy&) { get_replica_context().all_reduce(ReduceOp::sum, Tensor()); }); }),
      misuse<InvalidArgument>(
          "ReplicaContext::all_gather", "an undefined tensor",
          "all_gather takes tensors, got an undefined one from replica ",
          [] { in_replica([](const Strategy&) { get_replica_context().all_gather(Tensor(), 0); }); }),
      misuse<LogicError>("set_strategy", "in a scope",
                         "set_strategy() must not be called inside a strategy's scope or replica",
                         [] {
                           const MirroredStrategy strategy = two();
                           const auto inside = strategy.scope();
                           set_strategy(strategy);
                         }),
      misuse<LogicError>("DistributedIterator::next", "in a replica",
                         "a distributed data set is iterated outside replicas",
                         [] {
                           in_replica([](const Strategy& strategy) {
                             strategy.distribute(Dataset::from_tensors(zeros({4, 1})).batch(2)).epoch().next();
                           });
                         }),
      misuse<InvalidArgument>(
          "ReplicaContext::all_gather", "an axis that is not there", "axis 3 is out of range for rank 1",
          [] { in_replica([](const Strategy&) { get_replica_context().all_gather(zeros({2}), 3); }); }),
  };
}

Rows variable_rows() {
  return {
      misuse<InvalidArgument>("Variable", "no initializer", "variable 'v' needs an initializer",
                              [] { Variable(VariableSpec{.name = "v", .shape = {2}, .initializer = {}}); }),
      misuse<InvalidArgument>("Variable", "synchronization none", "synchronization none is not supported",
                              [] {
                                VariableSpec none = spec();
                                none.synchronization = Synchronization::none;
                                variable(none);
                              }),
      misuse<InvalidArgument>("Variable", "the mean of integers", "cannot be aggregated by mean",
                              [] {
                                VariableSpec mean = spec();
                                mean.dtype = DType::i64;
                                mean.aggregation = Aggregation::mean;
                                variable(mean);
                              }),
      misuse<LogicError>(
          "Variable", "in run() after the first step",
          "variable 'v' is made inside run() after the first step, where it would be a new one in every step",
          [] {
            const MirroredStrategy strategy = two();
            strategy.run([] {});
            strategy.run([] { Variable{spec()}; });
          }),
      misuse<LogicError>("Variable::name", "default-constructed", "this variable has no value",
                         [] { (void)Variable().name(); }),
      misuse<LogicError>("Variable::value", "moved from", "this variable has no value",
                         [] { (void)moved_from(variable()).value(); }),
      misuse<LogicError>("Variable::assign", "moved from", "this variable has no value",
                         [] { moved_from(variable()).assign(1.0); }),
      misuse<InvalidArgument>("Variable::assign", "another shape", "variable 'v' has shape (2) of f32",
                              [] { variable().assign(zeros({3})); }),
      misuse<InvalidArgument>("Variable::assign", "another dtype", "variable 'v' has shape (2) of f32",
                              [] { variable().assign(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("Variable::assign", "another shape, after the strategy's end",
                              "variable 'v' has shape (2) of f32",
                              [] {
                                const Variable left = variable();  // its strategy has been destroyed
                                left.assign(1.0);
                                require<BrokenInvariant>(left.value().to_vector<float>()[1] == 1, "not assigned");
                                left.assign(zeros({3}));
                              }),
      misuse<LogicError>("Variable::value", "in another strategy's scope", "mixing different strategies: variable 'v'",
                         [] {
                           const Variable other = variable();
                           const MirroredStrategy strategy = two();
                           const auto inside = strategy.scope();
                           (void)other.value();
                         }),
      misuse<LogicError>("Variable::value", "in another strategy's replica",
                         "mixing different strategies: variable 'v'",
                         [] {
                           const Variable other = variable();
                           in_replica([&](const Strategy&) { (void)other.value(); });
                         }),
      misuse<LogicError>("Variable::assign", "a plain one in several replicas", "was made outside the strategy's scope",
                         [] {
                           const Variable plain(spec());
                           in_replica([&](const Strategy&) { plain.assign(1.0); });
                         }),
      misuse<InvalidArgument>("Variable::assign", "in replicas, values that differ and no aggregation",
                              "variable 'v' has no aggregation, and replicas 0 and 1 assign different values to it",
                              [] {
                                const MirroredStrategy strategy = two();
                                const Variable v = strategy.scope([] { return Variable(spec()); });
                                strategy.run(
                                    [&] { v.assign(Tensor::full({2}, get_replica_context().local_replica())); });
                              }),
      misuse<InvalidArgument>("Variable::scatter_add", "a row that is not there",
                              "scatter_add: index 2 is outside the 2 rows of f32 (2) on CPU:0",
                              [] {
                                variable().scatter_add({.values = zeros({1}),
                                                        .indices = Tensor::full({1}, 2, DType::i64),
                                                        .dense_shape = {2}});
                              }),
      misuse<InvalidArgument>("Variable::scatter_add", "undefined slices",
                              "IndexedSlices need values and indices, got an undefined tensor and an undefined tensor",
                              [] { variable().scatter_add({}); }),
      misuse<LogicError>("Strategy::update", "a variable that was moved from", "this variable has no value",
                         [] { two().update(moved_from(variable()), [](const Variable&) {}); }),
      misuse<LogicError>("verify_mirrored", "a variable that was moved from", "this variable has no value",
                         [] { verify_mirrored(std::vector{moved_from(variable())}); }),
      misuse<InvalidArgument>(
          "StrategyExtended::value_container", "a tensor of no variable",
          "value_container() takes a copy of one of this strategy's variables, got f32 (2) on CPU:0",
          [] { (void)two().extended().value_container(zeros({2})); }),
      misuse<InvalidArgument>("Variable::assign_add", "another shape",
                              "variable 'v' has shape (2) of f32, cannot be assigned f32 (3) on CPU:0",
                              [] { variable(spec()).assign_add(zeros({3})); }),
      misuse<InvalidArgument>("Variable::assign_sub", "a tensor that was moved from",
                              "variable 'v' has shape (2) of f32, cannot be assigned an undefined tensor",
                              [] { variable(spec()).assign_sub(moved_from(zeros({2}))); }),
      misuse<LogicError>("Variable::assign_add", "moved from", "this variable has no value",
                         [] { moved_from(variable(spec())).assign_add(zeros({2})); }),
      misuse<LogicError>("Variable::shape", "moved from", "this variable has no value",
                         [] { (void)moved_from(variable(spec())).shape(); }),
      misuse<LogicError>("Variable::dtype", "moved from", "this variable has no value",
                         [] { (void)moved_from(variable(spec())).dtype(); }),
      misuse<InvalidArgument>("Variable::scatter_sub", "rows of another shape",
                              "scatter_sub of 1 rows of f32 (3) does not fit f32 (2) on CPU:0",
                              [] {
                                variable(spec()).scatter_sub({zeros({1}), zeros({1}, DType::i64), {3}});
                              }),
      misuse<InvalidArgument>("Variable::scatter_update", "a row that is not there",
                              "scatter_update: index 5 is outside the 2 rows of f32 (2) on CPU:0",
                              [] {
                                variable(spec()).scatter_update({zeros({1}), Tensor::full({1}, 5, DType::i64), {2}});
                              }),
      misuse<LogicError>("StrategyExtended::read_var", "a variable that was moved from", "this variable has no value",
                         [] { two().extended().read_var(moved_from(variable(spec()))); }),
      misuse<LogicError>("Strategy::local_results", "a variable that was moved from", "this variable has no value",
                         [] { two().local_results(moved_from(variable(spec()))); }),
  };
}

}  // namespace lockstep::test
