#include "lockstep/strategy/core/distributed_variable.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/strategy/comm/cluster/over_replicas.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/comm/combine.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/core/thread_strategy.h>

namespace lockstep {
namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(a.on_host().raw_data(), b.on_host().raw_data(),
                     static_cast<std::size_t>(a.elements()) * size_of(a.dtype())) == 0;
}

std::string assignment_of(const std::string& variable) { return "the assignment of variable '" + variable + "'"; }

/// The value that all replicas assign to a variable without an aggregation. Throws InvalidArgument if the replicas'
/// values differ.
Tensor common_value(Cluster* workers, const std::string& variable, const PerReplica<Tensor>& values) {
  for (int replica = 1; replica < values.size(); ++replica)
    require(same_bits(values[0], values[replica]),
            "variable '{}' has no aggregation, and replicas 0 and {} assign different values to it; give it "
            "Aggregation::sum, mean or only_first_replica",
            variable, replica);
  if (workers) {
    const std::string place = assignment_of(variable);
    const bool same = same_bits(value_of_chief(*workers, place, values[0]), values[0]);
    workers->fail_together(
        place, same ? ""
                    : fmt::format("variable '{}' has no aggregation, and this worker assigns another value to it than "
                                  "the chief; give it Aggregation::sum, mean or only_first_replica",
                                  variable));
  }
  return values[0];
}

Tensor aggregated(Cluster* workers, const VariableSpec& spec, const PerReplica<Tensor>& values) {
  const std::string place = assignment_of(spec.name);
  switch (spec.aggregation) {
    case Aggregation::none:
      return common_value(workers, spec.name, values);
    case Aggregation::only_first_replica:
      return workers ? value_of_chief(*workers, place, values[0]) : values[0];
    case Aggregation::sum:
      return combine(workers, place, ReduceOp::sum, values.local_results());
    case Aggregation::mean:
      return combine(workers, place, ReduceOp::mean, values.local_results());
  }
  fail<BrokenInvariant>("variable '{}' has an unknown aggregation", spec.name);
}

/// Writes `variable` once for all replicas, after all of them have made this call.
void write_together(VariableState& variable, AssignOp op, const Tensor& value, bool literal) {
  const auto write = [&](const Strategy& strategy, const PerReplica<Tensor>& values) {
    variable.write(op, literal ? values[0] : aggregated(strategy.state()->cluster(), variable.spec(), values));
  };
  get_replica_context().merge_at(assignment_of(variable.spec().name), write, std::tuple(make_dense(value)));
}

void check_literal(const VariableSpec& spec) {
  require(spec.aggregation != Aggregation::sum,
          "variable '{}' is aggregated by sum, and a number that is the same on every replica cannot be summed; assign "
          "a tensor, which counts once for each replica",
          spec.name);
}

/// Combines the slices of all replicas by the variable's aggregation.
IndexedSlices aggregated(Cluster* workers, const VariableSpec& spec, const PerReplica<IndexedSlices>& slices) {
  const std::string place = "the scattering into variable '" + spec.name + "'";
  const PerReplica<Tensor> values = slices.transform([](const IndexedSlices& own) { return own.values; });
  const PerReplica<Tensor> indices = slices.transform([](const IndexedSlices& own) { return own.indices; });
  if (spec.aggregation == Aggregation::none)
    return {common_value(workers, spec.name, values), common_value(workers, spec.name, indices), slices[0].dense_shape};
  if (spec.aggregation == Aggregation::only_first_replica) {
    if (!workers) return slices[0];
    return {value_of_chief(*workers, place, values[0]), value_of_chief(*workers, place, indices[0]),
            slices[0].dense_shape};
  }
  const ReduceOp op = spec.aggregation == Aggregation::mean ? ReduceOp::mean : ReduceOp::sum;
  return combine(workers, place, op, slices.local_results());
}

/// The weighted mean of the copies of all workers. It is clamped to the range of the copies' elements, so that the mean
/// of equal copies is exactly their value in spite of rounding in f32.
Tensor mean_of(Cluster* workers, const std::string& place, const std::vector<Tensor>& copies,
               const std::vector<double>& weights) {
  const Tensor mean = weighted_mean(workers, place, copies, weights);
  std::vector<Tensor> counted = copies;
  for (std::size_t i = 0; i < counted.size(); ++i)
    if (weights[i] == 0) counted[i] = mean;
  const Tensor least = combine(workers, place, ReduceOp::min, counted);
  const Tensor most = combine(workers, place, ReduceOp::max, counted);
  return combine(ReduceOp::min, std::array{most, combine(ReduceOp::max, std::array{least, mean})});
}

/// Splits `value` into equal parts. The first part of integers also gets the remainder.
PerReplica<Tensor> shares_of(const Tensor& value, int parts) {
  require(value.dtype() != DType::boolean, "a bool value cannot be divided among replicas, got {}", value);
  std::vector<Tensor> shares;
  visit_dtype(value.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      // A u8 may be smaller than the number of parts; bfloat16 has no arithmetic.
      using Number = std::conditional_t<std::is_integral_v<T>, std::int64_t, float>;
      std::vector<T> first = value.to_vector<T>();
      std::vector<T> others = first;
      for (T& element : others) element = T(static_cast<Number>(element) / static_cast<Number>(parts));
      for (std::size_t i = 0; i < first.size(); ++i) {
        if constexpr (std::is_integral_v<T>)
          first[i] = T(Number{first[i]} - Number{others[i]} * (parts - 1));
        else
          first[i] = others[i];
      }
      for (int part = 0; part < parts; ++part)
        shares.push_back(Tensor::from(part == 0 ? first : others, value.shape()));
    }
  });
  return PerReplica<Tensor>(std::move(shares));
}

}  // namespace

DistributedVariable::DistributedVariable(VariableSpec spec, const std::vector<LogicalDevice>& devices,
                                         std::weak_ptr<const StrategyState> owner)
    : VariableState(std::move(spec), devices), owner_(std::move(owner)) {}

void DistributedVariable::check_strategy() const {
  const auto& here = thread_strategy();
  const bool own = !here || (!here.owner_before(owner_) && !owner_.owner_before(here));
  require<LogicError>(own, "mixing different strategies: variable '{}' was made under another one", spec().name);
}

Cluster* DistributedVariable::workers() const {
  const auto owner = owner_.lock();
  return owner ? owner->cluster() : nullptr;
}

int DistributedVariable::first_replica() const {
  const auto owner = owner_.lock();
  return owner ? owner->first_replica() : 0;
}

void DistributedVariable::scatter_in_replica(ScatterOp op, const IndexedSlices& slices) {
  const bool joins = spec().aggregation == Aggregation::sum || spec().aggregation == Aggregation::mean;
  require<Unsupported>(!joins || op < ScatterOp::min,
                       "{} in a replica is not supported for variable '{}' of aggregation {}, with which this op is "
                       "not defined; use none or only_first_replica",
                       lockstep::name(op), spec().name, lockstep::name(spec().aggregation));
  check_shapes(slices);
  const auto write = [&](const Strategy& strategy, const PerReplica<IndexedSlices>& all) {
    scatter(op, aggregated(strategy.state()->cluster(), spec(), all));
  };
  const IndexedSlices own{make_dense(slices.values), make_dense(slices.indices), slices.dense_shape};
  get_replica_context().merge_at("the scattering into variable '" + spec().name + "'", write, std::tuple(own));
}

void MirroredVariable::write_in_replica(AssignOp op, const Tensor& value, bool literal, int replica) {
  if (!literal) return write_together(*this, op, value, false);
  check_literal(spec());
  write_copy(replica, op, value);
}

Tensor SyncOnReadVariable::read() const {
  require(spec().aggregation != Aggregation::none,
          "variable '{}' has a value of its own on each replica and no aggregation: read it inside run()", spec().name);
  const std::vector<Tensor>& all = copies();
  const std::string place = "the reading of variable '" + spec().name + "'";
  if (spec().aggregation == Aggregation::only_first_replica) {
    const Tensor first = Tensor::empty(spec().shape, spec().dtype);
    assign(all.front(), first);
    return workers() ? value_of_chief(*workers(), place, first) : first;
  }
  if (spec().aggregation == Aggregation::mean) return mean_of(workers(), place, all, copy_weights());
  return combine(workers(), place, ReduceOp::sum, all);
}

void SyncOnReadVariable::write(AssignOp op, const Tensor& value) {
  if (spec().aggregation != Aggregation::sum) return VariableState::write(op, value);
  require(op == AssignOp::set,
          "variable '{}' is the sum of one value for each replica: assign it, or add to it in a replica", spec().name);
  const int local = static_cast<int>(copies().size());
  const PerReplica<Tensor> shares = shares_of(value, local * (workers() ? workers()->size() : 1));
  for (int replica = 0; replica < local; ++replica) write_copy(replica, op, shares[first_replica() + replica]);
}

void SyncOnReadVariable::write_in_replica(AssignOp op, const Tensor& value, bool /*literal*/, int replica) {
  write_copy(replica, op, value);
}

void SyncOnReadVariable::scatter(ScatterOp op, const IndexedSlices&) {
  fail<Unsupported>("{} is not supported for variable '{}', whose replicas have values of their own",
                    lockstep::name(op), spec().name);
}

void SyncOnReadVariable::scatter_in_replica(ScatterOp op, const IndexedSlices& slices) { scatter(op, slices); }

void AggregatingVariable::write_in_replica(AssignOp op, const Tensor& value, bool literal, int /*replica*/) {
  require(spec().aggregation != Aggregation::none,
          "variable '{}' has one copy for all replicas: to assign it in a replica it must specify an aggregation",
          spec().name);
  if (literal) check_literal(spec());
  write_together(*this, op, value, literal);
}

}  // namespace lockstep
