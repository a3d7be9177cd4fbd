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
      misuse<InvalidArgument>("MirroredStrategy", "no device", {"device"}, [] { MirroredStrategy{Devices()}; }),
      misuse<InvalidArgument>("MirroredStrategy", "a device twice", {"[CPU:0, CPU:0]"},
                              [] {
                                MirroredStrategy({"CPU:0", "CPU:0"});
                              }),
      misuse<InvalidArgument>("MirroredStrategy", "an unknown device", {"'TPU:0'", "GPU:1"},
                              [] { MirroredStrategy({"TPU:0"}); }),
      misuse<InvalidArgument>("MirroredStrategy", "a GPU that is not there", {"GPU:99"},
                              [] { MirroredStrategy({"GPU:99"}); }),
      misuse<InvalidArgument>("MirroredStrategy", "no time to wait", {"got 0"},
                              [] { MirroredStrategy(logical_cpus(2), {.timeout = std::chrono::milliseconds(0)}); }),
      misuse<InvalidArgument>("CentralStorageStrategy", "no device", {"device"},
                              [] { CentralStorageStrategy{Devices()}; }),
      misuse<InvalidArgument>("CentralStorageStrategy", "a device twice", {"[CPU:0, CPU:0]"},
                              [] {
                                CentralStorageStrategy(std::vector<std::string>{"CPU:0", "CPU:0"});
                              }),
      misuse<InvalidArgument>("MultiWorkerMirroredStrategy", "no device", {"device"},
                              [] { MultiWorkerMirroredStrategy{Devices()}; }),
      misuse<InvalidArgument>("MultiWorkerMirroredStrategy", "a device twice", {"CPU:0"},
                              [] {
                                const LogicalDevice device = logical_cpus(1).front();
                                MultiWorkerMirroredStrategy({device, device});
                              }),
      misuse<InvalidArgument>(
          "MultiWorkerMirroredStrategy", "no time to wait", {"got 0", "30000 ms"},
          [] { MultiWorkerMirroredStrategy(logical_cpus(2), {.timeout = std::chrono::milliseconds(0)}); }),
      misuse<LogicError>("MultiWorkerMirroredStrategy::scope", "inside that of another strategy", {"scope()"},
                         [] {
                           const MirroredStrategy other = two();
                           const auto inside = other.scope();
                           const auto second = MultiWorkerMirroredStrategy(logical_cpus(2)).scope();
                         }),
      misuse<InvalidArgument>("worker_devices", "no replica", {"64", "got 0"}, [] { worker_devices(0); }),
      misuse<InvalidArgument>("parse_tf_config", "no JSON", {"TF_CONFIG"}, [] { parse_tf_config("worker 0 of 2"); }),
      misuse<InvalidArgument>("parse_tf_config", "a task that its cluster does not have", {"TF_CONFIG"},
                              [] {
                                parse_tf_config(R"({"cluster": {"worker": ["a:1"]},
                                                    "task": {"type": "worker", "index": 1}})");
                              }),
      misuse<Unsupported>("parse_tf_config", "a parameter server", {"TF_CONFIG", "'ps'", "'worker'"},
                          [] {
                            parse_tf_config(R"({"cluster": {"worker": ["a:1"], "ps": ["b:1"]},
                                                "task": {"type": "ps", "index": 0}})");
                          }),
      misuse<InvalidArgument>("OneDeviceStrategy", "an unknown device", {"CPU:64", "PUs", "CPU:63"},
                              [] { OneDeviceStrategy("CPU:64"); }),
      misuse<InvalidArgument>("logical_cpus", "none", {"64", "got 0"}, [] { logical_cpus(0); }),
      misuse<InvalidArgument>("parse_devices", "a limit of memory that is no number", {"'CPU:1@many'", "MiB"},
                              [] {
                                const std::string name = "CPU:1@many";
                                parse_devices(std::span(&name, 1));
                              }),
  };
}

Rows moved_from_rows() {
  return {
      misuse<LogicError>("Strategy::run", "moved from", {"no value"}, [] { moved_from<Strategy>(two()).run([] {}); }),
      misuse<LogicError>("Strategy::scope", "moved from", {"no value"},
                         [] { (void)moved_from<Strategy>(two()).scope(); }),
      misuse<LogicError>("Strategy::reduce", "moved from", {"no value"},
                         [] { moved_from<Strategy>(two()).reduce(ReduceOp::sum, pair({1}, {1})); }),
      misuse<LogicError>("Strategy::gather", "moved from", {"no value"},
                         [] { moved_from<Strategy>(two()).gather(pair({1}, {1}), 0); }),
      misuse<LogicError>("Strategy::num_replicas_in_sync", "moved from", {"no value"},
                         [] { (void)moved_from<Strategy>(two()).num_replicas_in_sync(); }),
      misuse<LogicError>("Strategy::clone", "moved from", {"no value"},
                         [] { (void)moved_from<Strategy>(two()).clone(); }),
      misuse<LogicError>("Strategy::distribute", "moved from", {"no value"},
                         [] {
                           const Dataset data = Dataset::from_tensors(zeros({4, 1})).batch(2);
                           (void)moved_from<Strategy>(two()).distribute(data);
                         }),
      misuse<LogicError>("set_strategy", "moved from", {"no value"}, [] { set_strategy(moved_from<Strategy>(two())); }),
      misuse<LogicError>("DistributedDataset::epoch", "moved from", {"no value"},
                         [] {
                           const Dataset data = Dataset::from_tensors(zeros({4, 1})).batch(2);
                           (void)moved_from(two().distribute(data)).epoch();
                         }),
      misuse<LogicError>(
          "DistributedIterator::next", "moved from", {"no value"},
          [] {
            DistributedIterator pass = two().distribute(Dataset::from_tensors(zeros({4, 1})).batch(2)).epoch();
            const DistributedIterator other = std::move(pass);
            pass.next();  // NOLINT
          }),
      misuse<InvalidArgument>("PerReplica::operator[]", "a replica that is not there", {"no value", "2 replicas"},
                              [] { (void)pair({1}, {1})[2]; }),
      misuse<LogicError>("Strategy::devices", "moved from", {"no value"},
                         [] { (void)moved_from<Strategy>(two()).devices(); }),
      misuse<LogicError>("Strategy::distribute", "moved from", {"no value"},
                         [] {
                           moved_from<Strategy>(two()).distribute(Dataset::from_tensors(zeros({2, 2})).batch(2));
                         }),
  };
}

Rows value_rows() {
  return {
      misuse<InvalidArgument>("Strategy::run", "values for another number of replicas", {"run()", "1 replicas"},
                              [] { two().run([](const Tensor&) {}, PerReplica(std::vector{zeros({1})})); }),
      misuse<InvalidArgument>("Strategy::reduce", "shapes that differ", {"f32 (1)", "f32 (2)"},
                              [] { two().reduce(ReduceOp::sum, pair({1}, {2})); }),
      misuse<InvalidArgument>("Strategy::reduce", "an undefined tensor", {"undefined"},
                              [] {
                                two().reduce(ReduceOp::sum, PerReplica(std::vector{zeros({1}), Tensor()}));
                              }),
      misuse<InvalidArgument>(
          "Strategy::reduce", "dtypes that differ", {"f32 (1)", "i64 (1)"},
          [] {
            two().reduce(ReduceOp::sum, PerReplica(std::vector{zeros({1}), zeros({1}, DType::i64)}));
          }),
      misuse<InvalidArgument>("Strategy::reduce", "an unknown op", {"'median'"},
                              [] { two().reduce("median", pair({1}, {1})); }),
      misuse<InvalidArgument>("Strategy::gather", "numbers", {"f32 ()"}, [] { two().gather(pair({}, {}), 0); }),
      misuse<InvalidArgument>("Strategy::gather", "an axis that is not there", {"axis 2"},
                              [] { two().gather(pair({1}, {1}), 2); }),
      misuse<InvalidArgument>("Strategy::gather", "undefined tensors", {"got an undefined tensor"},
                              [] { two().gather(PerReplica(std::vector<Tensor>(2)), 0); }),
      misuse<InvalidArgument>("Strategy::distribute", "shares for another number of replicas", {"[1]", "2 replica"},
                              [] {
                                (void)two().distribute(Dataset::from_tensors(zeros({4, 1})).batch(2), {.shares = {1}});
                              }),
      misuse<InvalidArgument>(
          "Strategy::distribute", "a negative buffer", {"got -1"},
          [] {
            (void)two().distribute(Dataset::from_tensors(zeros({4, 1})).batch(2), {.per_replica_buffer_size = -1});
          }),
      misuse<InvalidArgument>("Strategy::distribute", "examples that are no batches", {"batch()"},
                              [] { two().distribute(Dataset::from_tensors(zeros({4}))).epoch().next(); }),
      misuse<InvalidArgument>("Strategy::distribute_from_function", "no function", {"distribute_from_function()"},
                              [] { (void)two().distribute_from_function(nullptr); }),
      misuse<InvalidArgument>(
          "StrategyExtended::reduce_to", "values of different shapes", {"f32 (2)"},
          [] {
            two().extended().reduce_to(ReduceOp::sum, PerReplica<Tensor>(std::vector{zeros({2}), zeros({3})}), "CPU:0");
          }),
      misuse<InvalidArgument>("StrategyExtended::reduce_to", "an unknown reduction", {"'median'"},
                              [] { two().extended().reduce_to("median", pair({1}, {1}), "CPU:0"); }),
      misuse<InvalidArgument>("StrategyExtended::reduce_to", "a device that is not there", {"CPU:99", "PUs", "CPU:63"},
                              [] { two().extended().reduce_to(ReduceOp::sum, pair({1}, {1}), "CPU:99"); }),
      misuse<InvalidArgument>(
          "StrategyExtended::batch_reduce_to", "values of another number of replicas", {"reduce()", "1 replicas"},
          [] {
            two().extended().batch_reduce_to(ReduceOp::sum, {{PerReplica<Tensor>(std::vector{zeros({2})}), "CPU:0"}});
          }),
      misuse<InvalidArgument>("StrategyExtended::broadcast_to", "a tensor that was moved from",
                              {"broadcast_to()", "undefined"},
                              [] { two().extended().broadcast_to(moved_from(zeros({2})), "CPU:0"); }),
      misuse<InvalidArgument>("StrategyExtended::broadcast_to", "no device", {"device"},
                              [] { two().extended().broadcast_to(zeros({2}), std::vector<std::string>()); }),
  };
}

}  // namespace

Rows strategy_rows() { return joined({device_rows(), moved_from_rows(), value_rows()}); }

Rows replica_rows() {
  return {
      misuse<LogicError>("Strategy::run", "in a replica", {"run()"},
                         [] { in_replica([](const Strategy& strategy) { strategy.run([] {}); }); }),
      misuse<LogicError>("Strategy::scope", "in a replica", {"scope()"},
                         [] { in_replica([](const Strategy& strategy) { (void)strategy.scope(); }); }),
      misuse<LogicError>("Strategy::scope", "in another one's", {"scope()"},
                         [] {
                           const MirroredStrategy strategy = two();
                           const auto inside = strategy.scope();
                           (void)two().scope();
                         }),
      misuse<LogicError>("Strategy::run", "in another one's scope", {"run()"},
                         [] {
                           const MirroredStrategy strategy = two();
                           const auto inside = strategy.scope();
                           two().run([] {});
                         }),
      misuse<LogicError>("Strategy::reduce", "in a replica", {"reduce()"},
                         [] { in_replica([](const Strategy& s) { s.reduce(ReduceOp::sum, pair({1}, {1})); }); }),
      misuse<LogicError>("Strategy::gather", "in a replica", {"gather()"},
                         [] { in_replica([](const Strategy& s) { s.gather(pair({1}, {1}), 0); }); }),
      misuse<LogicError>("get_replica_context", "in a scope", {"run()"},
                         [] {
                           const MirroredStrategy strategy = two();
                           const auto inside = strategy.scope();
                           get_replica_context();
                         }),
      misuse<LogicError>("ReplicaContext::all_reduce", "on another thread", {"thread"},
                         [] {
                           in_replica([](const Strategy&) {
                             const ReplicaContext context = get_replica_context();
                             on_another_thread([&] { context.all_reduce(ReduceOp::sum, 1.0); });
                           });
                         }),
      misuse<LogicError>("ReplicaContext::merge_call", "on another thread", {"thread"},
                         [] {
                           in_replica([](const Strategy&) {
                             const ReplicaContext context = get_replica_context();
                             on_another_thread([&] { context.merge_call([](const Strategy&) {}); });
                           });
                         }),
      misuse<LogicError>("ReplicaContext::all_reduce", "after run()", {"thread"},
                         [] {
                           const MirroredStrategy strategy = two();
                           const auto contexts =
                               strategy.run([] { return std::make_shared<ReplicaContext>(get_replica_context()); });
                           contexts[0]->all_reduce(ReduceOp::sum, 1.0);
                         }),
      misuse<LogicError>("ReplicaContext::num_replicas_in_sync", "moved from", {"no value"},
                         [] { (void)moved_from(get_replica_context()).num_replicas_in_sync(); }),
      misuse<InvalidArgument>("ReplicaContext::all_reduce", "shapes that differ", {"all_reduce", "f32 (1)"},
                              [] {
                                in_replica([](const Strategy&) {
                                  const ReplicaContext context = get_replica_context();
                                  context.all_reduce(ReduceOp::sum, zeros({context.local_replica() + 1}));
                                });
                              }),
      misuse<InvalidArgument>(
          "ReplicaContext::all_reduce", "an undefined tensor", {"all_reduce", "undefined"},
          [] { in_replica([](const Strategy&) { get_replica_context().all_reduce(ReduceOp::sum, Tensor()); }); }),
      misuse<InvalidArgument>(
          "ReplicaContext::all_gather", "an undefined tensor", {"all_gather", "undefined"},
          [] { in_replica([](const Strategy&) { get_replica_context().all_gather(Tensor(), 0); }); }),
      misuse<LogicError>("set_strategy", "in a scope", {"set_strategy()"},
                         [] {
                           const MirroredStrategy strategy = two();
                           const auto inside = strategy.scope();
                           set_strategy(strategy);
                         }),
      misuse<LogicError>("DistributedIterator::next", "in a replica", {"outside"},
                         [] {
                           in_replica([](const Strategy& strategy) {
                             strategy.distribute(Dataset::from_tensors(zeros({4, 1})).batch(2)).epoch().next();
                           });
                         }),
      misuse<InvalidArgument>(
          "ReplicaContext::all_gather", "an axis that is not there", {"axis 3"},
          [] { in_replica([](const Strategy&) { get_replica_context().all_gather(zeros({2}), 3); }); }),
  };
}

Rows variable_rows() {
  return {
      misuse<InvalidArgument>("Variable", "no initializer", {"'v'"},
                              [] { Variable(VariableSpec{.name = "v", .shape = {2}, .initializer = {}}); }),
      misuse<InvalidArgument>("Variable", "synchronization none", {"synchronization none"},
                              [] {
                                VariableSpec none = spec();
                                none.synchronization = Synchronization::none;
                                variable(none);
                              }),
      misuse<InvalidArgument>("Variable", "the mean of integers", {"mean"},
                              [] {
                                VariableSpec mean = spec();
                                mean.dtype = DType::i64;
                                mean.aggregation = Aggregation::mean;
                                variable(mean);
                              }),
      misuse<LogicError>("Variable", "in run() after the first step", {"'v'", "run()"},
                         [] {
                           const MirroredStrategy strategy = two();
                           strategy.run([] {});
                           strategy.run([] { Variable{spec()}; });
                         }),
      misuse<LogicError>("Variable::name", "default-constructed", {"no value"}, [] { (void)Variable().name(); }),
      misuse<LogicError>("Variable::value", "moved from", {"no value"}, [] { (void)moved_from(variable()).value(); }),
      misuse<LogicError>("Variable::assign", "moved from", {"no value"}, [] { moved_from(variable()).assign(1.0); }),
      misuse<InvalidArgument>("Variable::assign", "another shape", {"'v'", "(2)"},
                              [] { variable().assign(zeros({3})); }),
      misuse<InvalidArgument>("Variable::assign", "another dtype", {"'v'", "(2)"},
                              [] { variable().assign(zeros({2}, DType::i64)); }),
      misuse<InvalidArgument>("Variable::assign", "another shape, after the strategy's end", {"'v'", "(2)"},
                              [] {
                                const Variable left = variable();  // its strategy has been destroyed
                                left.assign(1.0);
                                require<BrokenInvariant>(left.value().to_vector<float>()[1] == 1, "not assigned");
                                left.assign(zeros({3}));
                              }),
      misuse<LogicError>("Variable::value", "in another strategy's scope", {"'v'"},
                         [] {
                           const Variable other = variable();
                           const MirroredStrategy strategy = two();
                           const auto inside = strategy.scope();
                           (void)other.value();
                         }),
      misuse<LogicError>("Variable::value", "in another strategy's replica", {"'v'"},
                         [] {
                           const Variable other = variable();
                           in_replica([&](const Strategy&) { (void)other.value(); });
                         }),
      misuse<LogicError>("Variable::assign", "a plain one in several replicas", {"scope"},
                         [] {
                           const Variable plain(spec());
                           in_replica([&](const Strategy&) { plain.assign(1.0); });
                         }),
      misuse<InvalidArgument>(
          "Variable::assign", "in replicas, values that differ and no aggregation", {"assign", "'v'"},
          [] {
            const MirroredStrategy strategy = two();
            const Variable v = strategy.scope([] { return Variable(spec()); });
            strategy.run([&] { v.assign(Tensor::full({2}, get_replica_context().local_replica())); });
          }),
      misuse<InvalidArgument>("Variable::scatter_add", "a row that is not there", {"scatter_add", "f32 (2)"},
                              [] {
                                variable().scatter_add({.values = zeros({1}),
                                                        .indices = Tensor::full({1}, 2, DType::i64),
                                                        .dense_shape = {2}});
                              }),
      misuse<InvalidArgument>("Variable::scatter_add", "undefined slices", {"IndexedSlices", "got an undefined tensor"},
                              [] { variable().scatter_add({}); }),
      misuse<LogicError>("Strategy::update", "a variable that was moved from", {"no value"},
                         [] { two().update(moved_from(variable()), [](const Variable&) {}); }),
      misuse<LogicError>("verify_mirrored", "a variable that was moved from", {"no value"},
                         [] { verify_mirrored(std::vector{moved_from(variable())}); }),
      misuse<InvalidArgument>("StrategyExtended::value_container", "a tensor of no variable",
                              {"value_container()", "f32 (2)"},
                              [] { (void)two().extended().value_container(zeros({2})); }),
      misuse<InvalidArgument>("Variable::assign_add", "another shape", {"'v'", "(2)", "f32 (3)"},
                              [] { variable(spec()).assign_add(zeros({3})); }),
      misuse<InvalidArgument>("Variable::assign_add", "of bool", {"bool (2)", "f32"},
                              [] {
                                VariableSpec truth = spec();
                                truth.dtype = DType::boolean;
                                truth.initializer = [](const Tensor& out) {
                                  copy(Tensor::zeros({2}, DType::boolean), out);
                                };
                                variable(truth).assign_add(Tensor::zeros({2}, DType::boolean));
                              }),
      misuse<InvalidArgument>("Variable::assign_sub", "a tensor that was moved from", {"'v'", "(2)", "undefined"},
                              [] { variable(spec()).assign_sub(moved_from(zeros({2}))); }),
      misuse<LogicError>("Variable::assign_add", "moved from", {"no value"},
                         [] { moved_from(variable(spec())).assign_add(zeros({2})); }),
      misuse<LogicError>("Variable::shape", "moved from", {"no value"},
                         [] { (void)moved_from(variable(spec())).shape(); }),
      misuse<LogicError>("Variable::dtype", "moved from", {"no value"},
                         [] { (void)moved_from(variable(spec())).dtype(); }),
      misuse<InvalidArgument>("Variable::scatter_sub", "rows of another shape", {"scatter_sub", "f32 (3)", "f32 (2)"},
                              [] {
                                variable(spec()).scatter_sub({zeros({1}), zeros({1}, DType::i64), {3}});
                              }),
      misuse<InvalidArgument>("Variable::scatter_update", "a row that is not there", {"scatter_update", "f32 (2)"},
                              [] {
                                variable(spec()).scatter_update({zeros({1}), Tensor::full({1}, 5, DType::i64), {2}});
                              }),
      misuse<LogicError>("StrategyExtended::read_var", "a variable that was moved from", {"no value"},
                         [] { two().extended().read_var(moved_from(variable(spec()))); }),
      misuse<LogicError>("Strategy::local_results", "a variable that was moved from", {"no value"},
                         [] { two().local_results(moved_from(variable(spec()))); }),
  };
}

}  // namespace lockstep::test
