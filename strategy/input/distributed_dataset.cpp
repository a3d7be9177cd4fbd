#include "lockstep/strategy/input/distributed_dataset.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/thread/background_queue.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/cluster/launcher.h>
#include <lockstep/strategy/comm/cluster/over_replicas.h>
#include <lockstep/strategy/input/batch_split.h>

namespace lockstep {
namespace {

using DistributedBatches = Elements<DistributedBatch>;

void check_buffer(std::int64_t size) {
  require(size >= 0, "per_replica_buffer_size must not be negative, got {}", size);
}

constexpr std::int64_t uncountable = std::numeric_limits<std::int64_t>::max();  ///< too many examples to count

void warn_of_dropped(std::int64_t rows) {
  const char* const at_least = rows == uncountable ? "at least " : "";
  if (rows > 0) log_warning("drop_remainder leaves {}{} example(s) out of every pass over a data set", at_least, rows);
}

constexpr const char* batch_without_rows =
    "a batch of the data set has no rows: leave such batches out, for example with filter()";

/// Splits the global batches of a pass over the replicas.
DistributedBatches split(const Dataset& batches, std::uint64_t epoch, const LocalReplicas& replicas,
                         const std::vector<double>& shares) {
  return [pass = batches.epoch(epoch), replicas, shares]() mutable -> std::optional<DistributedBatch> {
    const std::optional<Batch> global = pass.next();
    if (!global) return std::nullopt;
    return DistributedBatch(*global, replicas, shares);
  };
}

/// Splits the batches of a pass over the replicas, for batches that contain only this worker's local_rows.
DistributedBatches split_own(const Dataset& own_rows, std::uint64_t epoch, const LocalReplicas& replicas,
                             const std::vector<double>& shares) {
  return [pass = own_rows.epoch(epoch), number = std::int64_t{0}, own_rows, replicas,
          shares]() mutable -> std::optional<DistributedBatch> {
    const std::optional<Batch> own = pass.next();
    if (!own) return std::nullopt;
    return DistributedBatch(*own, own_rows.batch_rows(number++).value(), replicas, shares);
  };
}

/// Deals one batch to each replica, from the replica's own set or, if there is only one set, from that set in the order
/// of replicas. At the end, also deals the last batches if there are fewer of them than replicas.
DistributedBatches deal(const std::vector<Dataset>& sets, std::uint64_t epoch, int replicas) {
  std::vector<DatasetIterator> passes;
  for (const Dataset& set : sets) passes.push_back(set.epoch(epoch));
  return [passes = std::move(passes), replicas]() mutable -> std::optional<DistributedBatch> {
    std::vector<std::optional<Batch>> parts;
    for (int replica = 0; replica < replicas; ++replica)
      parts.push_back(passes[static_cast<std::size_t>(replica) % passes.size()].next());
    if (std::none_of(parts.begin(), parts.end(), [](const auto& part) { return part.has_value(); }))
      return std::nullopt;
    return DistributedBatch(parts);
  };
}

/// Number of steps in a pass of `deal`; empty if a set is endless.
std::optional<std::int64_t> steps_of(const std::vector<Dataset>& sets, int replicas) {
  std::int64_t longest = 0;
  for (const Dataset& set : sets) {
    const std::optional<std::int64_t> size = set.size();
    if (!size) return std::nullopt;
    longest = std::max(longest, *size);
  }
  const std::int64_t dealt_at_once = sets.size() == 1 ? replicas : 1;
  return longest / dealt_at_once + (longest % dealt_at_once == 0 ? 0 : 1);
}

/// Puts the parts of a batch on the replicas' devices.
void place(DistributedBatch& batch, const DistributedDatasetSpec& spec) {
  if (spec.resident_rows)
    batch.take_from(spec.resident_rows);
  else
    batch.move_to(spec.devices);
}

}  // namespace

void DistributedIterator::begin_epoch(std::uint64_t number) {
  pass_ = {};  // frees the old pass before the new one is opened
  ExecutionContext context = current_context();
  context.ahead_threads = input_threads(spec_->devices, cores_of_process());
  const ContextScope here(context);  // applies to the pass and to the data set's prefetching
  auto opened = notify_on_failure(spec_->strategy->cluster(), [&] { return spec_->open(number); });
  pass_ = [batches = std::move(opened), spec = spec_.shared()]() mutable {
    std::optional<DistributedBatch> batch = batches.next();
    if (batch) place(*batch, *spec);
    return batch;
  };
  // Numbers of rows are made faster than a thread wakes.
  if (spec_->per_replica_buffer_size == 0 || spec_->resident_rows) return;
  using Buffers = BackgroundQueue<DistributedBatch>;
  pass_ = [buffers = std::make_unique<Buffers>(spec_->per_replica_buffer_size, std::move(pass_))] {
    return buffers->next();
  };
}

std::optional<DistributedBatch> DistributedIterator::next() {
  require<LogicError>(!current_context().in_replica(), "a distributed data set is iterated outside replicas");
  const PhaseTimer timer(Phase::input);
  Cluster* const workers = spec_->strategy->cluster();
  return notify_on_failure(workers, [&] {  // the others wait for this worker's step
    std::optional<DistributedBatch> batch = workers && spec_->until_none_has_any ? next_of_all(*workers) : next_here();
    if (batch && batch->global_size() == 0) {  // losses are divided by it
      pass_ = {};
      fail("{}", batch_without_rows);
    }
    return batch;
  });
}

std::optional<DistributedBatch> DistributedIterator::next_of_all(Cluster& workers) {
  std::optional<DistributedBatch> batch = next_here();
  constexpr double ended = -1;
  const double own = batch ? static_cast<double>(batch->global_size()) : ended;
  const std::vector<double> rows = gather_values(&workers, "the next batch", std::span(&own, 1));  // by worker
  const auto most = std::ranges::max_element(rows);
  if (*most == ended) return std::nullopt;
  if (*most == 0) {
    pass_ = {};
    throw_together("{}: {}", workers.name_of(static_cast<int>(most - rows.begin())), batch_without_rows);
  }
  if (batch) no_rows_ = batch->without_rows();
  require<InputError>(no_rows_.has_value(), "this worker's data set is empty, and those of others are not");
  if (!batch) batch = no_rows_;
  std::int64_t all_rows = 0;
  for (const double of_worker : rows) all_rows += static_cast<std::int64_t>(std::max(of_worker, 0.0));
  batch->set_global_size(all_rows);
  return batch;
}

std::optional<DistributedBatch> DistributedIterator::next_here() {
  std::optional<DistributedBatch> batch = pass_.next();
  if (!batch) return std::nullopt;
  if (const auto& measurement = spec_->measurement) {
    // Splits by the measured shares only now, because prefetched batches would keep the old shares.
    if (!measurement->shares().empty()) {
      batch = DistributedBatch(batch->global(), static_cast<int>(spec_->devices.size()), measurement->shares());
      place(*batch, *spec_);
    }
    batch->measure_with(measurement);
  }
  return batch;
}

namespace {

LocalReplicas local_replicas(const Strategy& strategy) {
  return {.in_sync = strategy.num_replicas_in_sync(),
          .first = strategy.state()->first_replica(),
          .count = strategy.num_local_replicas()};
}

/// The size of the longest of the workers' passes; empty if a pass is endless. A collective.
std::optional<std::int64_t> longest_of(Cluster* workers, std::optional<std::int64_t> own) {
  if (!workers) return own;
  constexpr std::int64_t endless = -1;
  for (const std::string& text :
       workers->all_gather("the size of a data set", fmt::format("{}", own.value_or(endless)))) {
    const std::int64_t other = std::stoll(text);
    if (other == endless) return std::nullopt;
    own = std::max(own.value_or(0), other);
  }
  return own;
}

/// The numbers of the rows of a data set whose tensors are kept on the devices, in `rows`.
Dataset kept_rows(const Dataset& batches, const std::vector<LogicalDevice>& devices,
                  std::shared_ptr<ResidentRows>& rows) {
  RowTensors tensors;
  std::optional<Dataset> numbers = batches.row_numbers(tensors);
  require(
      numbers.has_value(),
      "cache_on_devices needs a data set that begins with from_tensors, from_rows or a cache of known size, "
      "followed only by map with a RowTransform or RandomTransform, shuffle, batch, repeat, take, skip and prefetch: "
      "call cache() after its other stages");
  require(tensors.in_batches,
          "cache_on_devices takes the elements of from_tensors, from_rows or a cache as rows, and no batch() follows: "
          "call batch() after from_tensors, from_rows and cache()");
  rows = std::make_shared<ResidentRows>(std::move(tensors), devices);
  return *std::move(numbers);
}

}  // namespace

DistributedDataset Strategy::distribute(const Dataset& batches, const DistributeOptions& options) const {
  const int replicas = num_replicas_in_sync();
  check_buffer(options.per_replica_buffer_size);
  check_shares(options.shares, replicas);
  require(options.measure_steps >= 0, "measure_steps must not be negative, got {}", options.measure_steps);
  require(options.shares.empty() || options.measure_steps == 0,
          "batch shares are either given or measured, not both: leave shares or measure_steps out");
  require<Unsupported>(options.measure_steps == 0 || !state()->cluster(),
                       "the speeds of replicas of several workers are not measured: give their shares");
  warn_of_dropped(batches.dropped_rows());
  const LocalReplicas local = local_replicas(*this);
  std::shared_ptr<ResidentRows> resident_rows;
  const Dataset source = options.cache_on_devices ? kept_rows(batches, state()->devices(), resident_rows) : batches;
  std::optional<Dataset> own;
  if (state()->cluster())
    own = source.rows_of_batches(
        [local, shares = options.shares](std::int64_t rows) { return local_rows(rows, local, shares); });
  DistributedDatasetSpec spec{
      .open = [local, shares = options.shares, data = own.value_or(source),
               cut = own ? split_own : split](std::uint64_t epoch) { return cut(data, epoch, local, shares); },
      .size = batches.size(),
      .dropped_rows = batches.dropped_rows(),
      .devices = state()->devices(),
      .per_replica_buffer_size = options.per_replica_buffer_size,
      .shares = options.shares,
      .resident_rows = std::move(resident_rows),
      .strategy = state()};
  if (options.measure_steps > 0 && replicas > 1)
    spec.measurement = std::make_shared<ShareMeasurement>(replicas, options.measure_steps);
  return DistributedDataset(std::move(spec));
}

DistributedDataset Strategy::distribute_from_function(
    const std::function<Dataset(const InputContext&)>& per_replica_batches, const InputOptions& options) const {
  require(per_replica_batches != nullptr, "distribute_from_function() needs a function");
  check_buffer(options.per_replica_buffer_size);
  const LocalReplicas local = local_replicas(*this);
  const int replicas = local.count;
  const int workers = local.in_sync / local.count;
  const bool per_replica = options.replication_mode == ReplicationMode::per_replica;
  const int pipelines = per_replica ? replicas : 1;
  const int first = per_replica ? local.first : local.first / local.count;
  std::vector<Dataset> sets;
  std::int64_t dropped_rows = 0;
  for (int id = 0; id < pipelines; ++id) {
    sets.push_back(notify_on_failure(state()->cluster(), [&] {
      return per_replica_batches({.num_input_pipelines = pipelines * workers,
                                  .input_pipeline_id = first + id,
                                  .num_replicas_in_sync = local.in_sync});
    }));
    if (__builtin_add_overflow(dropped_rows, sets.back().dropped_rows(), &dropped_rows)) dropped_rows = uncountable;
  }
  warn_of_dropped(dropped_rows);
  return DistributedDataset({.open = [sets, replicas](std::uint64_t epoch) { return deal(sets, epoch, replicas); },
                             .size = longest_of(state()->cluster(), steps_of(sets, replicas)),
                             .dropped_rows = dropped_rows,
                             .devices = state()->devices(),
                             .per_replica_buffer_size = options.per_replica_buffer_size,
                             .strategy = state(),
                             .until_none_has_any = true});
}

}  // namespace lockstep
