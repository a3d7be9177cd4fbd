#include "lockstep/strategy/input/distributed_batch.h"

#include <algorithm>
#include <numeric>

#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/comm/replica_group.h>
#include <lockstep/strategy/input/batch_split.h>

namespace lockstep {
namespace {

std::int64_t rows_of(const Batch& batch) {
  require(!batch.inputs.empty(), "a batch needs an input");
  const Tensor& x = batch.x();
  for (const std::vector<Tensor>* tensors : {&batch.inputs, &batch.targets, &batch.sample_weights})
    for (const Tensor& tensor : *tensors) {
      require(tensor.defined(), "a batch has an undefined tensor: leave it out");
      require(tensor.rank() >= 1,
              "the rows of a batch are split over replicas, a scalar has none: call batch() on the data set first");
    }
  for (const Tensor& input : batch.inputs)
    require(input.dim(0) == x.dim(0), "the inputs of a batch must have equally many rows, got {} and {}", x, input);
  for (const Tensor& y : batch.targets)
    require(y.dim(0) == x.dim(0), "x and y of a batch must have equally many rows, got {} and {}", x, y);
  for (const Tensor& weight : batch.sample_weights)
    require(weight.shape() == Shape{x.dim(0)} || weight.shape() == Shape{x.dim(0), 1},
            "a batch of {0} rows needs sample weights ({0}) or ({0}, 1), got {1}", x.dim(0), weight);
  return x.dim(0);
}

Batch rows_view(const Batch& batch, std::int64_t begin, std::int64_t end) {
  return batch.each([&](const Tensor& tensor) { return tensor.slice_view(0, begin, end); });
}

}  // namespace

RowRange local_rows(std::int64_t rows, const LocalReplicas& replicas, std::span<const double> shares) {
  const std::vector<std::int64_t> sizes = split_rows(rows, replicas.in_sync, shares);
  const auto first = sizes.begin() + replicas.first;
  const std::int64_t begin = std::accumulate(sizes.begin(), first, std::int64_t{0});
  const std::int64_t end = std::accumulate(first, first + replicas.count, begin);
  if (begin < end) return {begin, end};
  const std::int64_t nearest = std::min(begin, rows - 1);
  return {nearest, nearest + 1};
}

DistributedBatch::DistributedBatch(const Batch& global, const LocalReplicas& replicas, std::span<const double> shares)
    : global_(global), global_size_(rows_of(global)) {
  cut(global, 0, replicas, shares);
}

DistributedBatch::DistributedBatch(const Batch& own, std::int64_t rows, const LocalReplicas& replicas,
                                   std::span<const double> shares)
    : global_size_(rows) {
  const RowRange wanted = local_rows(rows, replicas, shares);
  require(rows_of(own) == wanted.end - wanted.begin,
          "{} row(s) of a batch of {} became {}: a RowTransform gives as many rows as it is given",
          wanted.end - wanted.begin, rows, rows_of(own));
  cut(own, wanted.begin, replicas, shares);
}

void DistributedBatch::cut(const Batch& rows, std::int64_t first, const LocalReplicas& replicas,
                           std::span<const double> shares) {
  std::int64_t begin = -first;
  int replica = 0;
  for (const std::int64_t size : split_rows(global_size_, replicas.in_sync, shares)) {
    if (replica >= replicas.first && replica < replicas.first + replicas.count)
      parts_.push_back(rows_view(rows, begin, begin + size));
    begin += size;
    ++replica;
  }
}

DistributedBatch DistributedBatch::without_rows() const {
  DistributedBatch empty = *this;
  for (Batch& part : empty.parts_) part = rows_view(part, 0, 0);
  empty.global_size_ = 0;
  return empty;
}

DistributedBatch::DistributedBatch(const std::vector<std::optional<Batch>>& parts) {
  const auto some = std::find_if(parts.begin(), parts.end(), [](const auto& part) { return part.has_value(); });
  require<BrokenInvariant>(some != parts.end(), "a step was dealt to {} replicas without a batch", parts.size());
  for (const std::optional<Batch>& part : parts) {
    global_size_ += rows_of(part ? *part : **some) * (part ? 1 : 0);
    parts_.push_back(part ? *part : rows_view(**some, 0, 0));
  }
}

void DistributedBatch::move_to(const std::vector<LogicalDevice>& devices) {
  uploads_.clear();
  for (std::size_t replica = 0; replica < parts_.size(); ++replica) {
    if (devices[replica].kind == DeviceKind::cpu) {
      parts_[replica] =
          parts_[replica].each([&](const Tensor& tensor) { return reachable_from(devices[replica], tensor); });
      continue;
    }
    uploads_.resize(parts_.size());
    uploads_[replica] = std::make_shared<const UploadedBatch>(parts_[replica], devices[replica]);
    parts_[replica] = uploads_[replica]->batch();
  }
}

void DistributedBatch::take_from(const std::shared_ptr<ResidentRows>& rows) {
  rows->load();
  taken_ = std::make_shared<const TakenRows>(rows, parts_);
}

const std::vector<Batch>& DistributedBatch::local_results() const {
  if (taken_) return taken_->parts();
  for (int replica = 0; replica < parts(); ++replica) part(replica);
  return parts_;
}

const Batch& DistributedBatch::part(int replica) const {
  if (taken_) return taken_->part(replica);
  const auto own = static_cast<std::size_t>(replica);
  if (own < uploads_.size()) uploads_[own]->await();
  return parts_.at(own);
}

void after_step(const DistributedBatch& batch, const ReplicaGroup& group) {
  if (!batch.measurement()) return;
  std::vector<std::int64_t> rows;
  std::vector<double> busy_s;
  for (int replica = 0; replica < replicas_of(batch); ++replica) {
    rows.push_back(value_for_replica(batch, replica).size());
    busy_s.push_back(std::chrono::duration<double>(group.busy(replica)).count());
  }
  batch.measurement()->add_step(rows, busy_s);
}

}  // namespace lockstep
