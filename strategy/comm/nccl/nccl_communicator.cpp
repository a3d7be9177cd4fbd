#include "lockstep/strategy/comm/nccl/nccl_communicator.h"

#include <bit>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/strategy/comm/collective_names.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {
namespace {

/// The NCCL operation for `op`. For max and min, NCCL gathers the values and the library's kernel reduces them, since
/// NCCL's max and min do not propagate NaN. NCCL's mean divides each value before adding. It equals the divided sum bit
/// for bit only if the division by the number of replicas is exact, and is used only then.
GpuPart::Kind kind_of(ReduceOp op, int replicas) {
  switch (op) {
    case ReduceOp::max:
    case ReduceOp::min:
      return GpuPart::Kind::gather;
    case ReduceOp::prod:
      return GpuPart::Kind::product;
    case ReduceOp::mean:
      return std::has_single_bit(static_cast<unsigned>(replicas)) ? GpuPart::Kind::mean : GpuPart::Kind::sum;
    case ReduceOp::sum:
      return GpuPart::Kind::sum;
  }
  fail<BrokenInvariant>("unknown reduction {}", static_cast<int>(op));
}

/// One replica's part of a pack for NCCL. bf16 is widened to f32, because NCCL would round after each addition.
struct Transfer {
  GpuPart::Kind kind;
  Tensor in;
  Tensor out;  ///< the pack's result, or `in` itself if widened; (replicas, elements) if gathered
};

Transfer transfer_of(ReduceOp op, const Tensor& value, int replicas, const Tensor& result) {
  Transfer transfer{.kind = kind_of(op, replicas), .in = value, .out = result};
  if (value.dtype() == DType::bf16) transfer.in = transfer.out = Tensor::empty(value.shape());
  if (value.dtype() == DType::bf16) launch(kernels::Convert{value, transfer.in});
  if (transfer.kind == GpuPart::Kind::gather)
    transfer.out = Tensor::empty({replicas, value.elements()}, transfer.in.dtype());
  return transfer;
}

GpuPart part_of(const Transfer& transfer) {
  return {.kind = transfer.kind,
          .dtype = transfer.in.dtype(),
          .from = transfer.in.raw_data(),
          .to = transfer.out.raw_data(),
          .elements = static_cast<std::size_t>(transfer.in.elements())};
}

/// Computes `result` from NCCL's output: combines gathered parts, divides the sum of a mean, and rounds to bf16.
void finish(ReduceOp op, const Transfer& transfer, int replicas, const Tensor& result) {
  Tensor combined = transfer.out;
  if (transfer.kind == GpuPart::Kind::gather) {
    std::vector<Tensor> parts;
    for (std::int64_t part = 0; part < replicas; ++part) parts.push_back(transfer.out.slice_view(0, part, part + 1));
    combined = result.dtype() == transfer.in.dtype() ? result : transfer.in;
    reduce_range(op, parts, std::span(&combined, 1), {0, combined.elements()});
  } else if (op == ReduceOp::mean && transfer.kind == GpuPart::Kind::sum) {
    reduce_range(op, std::span(&combined, 1), std::span(&combined, 1), {0, combined.elements()}, replicas);
  }
  if (combined.dtype() != result.dtype()) launch(kernels::Convert{combined, result});
}

}  // namespace

NcclCommunicator::NcclCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack,
                                   const std::vector<LogicalDevice>& gpus, std::shared_ptr<GpuCollectives> collectives,
                                   Cluster* cluster)
    : HostCommunicator(group, bytes_per_pack),
      cluster_(cluster),
      collectives_(std::move(collectives)),
      collective_(gpus) {
  if (cluster_) gather_.emplace(group, *cluster_);
}

std::vector<Gathered> NcclCommunicator::all_gather(int replica, std::span<const Tensor> values, int axis) {
  std::vector<Gathered> gathered = HostCommunicator::all_gather(replica, values, axis);
  if (gather_) gather_->run(replica, axis, gathered);
  return gathered;
}

void NcclCommunicator::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  const auto own = static_cast<std::size_t>(replica);
  std::vector<Transfer> transfers;
  std::vector<GpuPart> parts;
  for (const PackViews& pack : packs) {
    transfers.push_back(transfer_of(op, pack.in[own], replicas_in_sync(), pack.out[own]));
    parts.push_back(part_of(transfers.back()));
  }
  if (cluster_) agree(replica, op, packs);
  collectives_->set_parts(collective_, replica, parts);
  group().barrier_on_host(replica, all_reduce_name);
  if (replica == 0) collectives_->submit(all_reduce_name, collective_);
  group().barrier_on_host(replica, "the submission of all_reduce");
  collectives_->join(replica);
  for (std::size_t i = 0; i < packs.size(); ++i) finish(op, transfers[i], replicas_in_sync(), packs[i].out[own]);
}

void NcclCommunicator::agree(int replica, ReduceOp op, std::span<const PackViews> packs) {
  if (replica == 0) {
    std::vector<std::string> texts;
    for (const PackViews& pack : packs) texts.push_back(fmt::format("{} of {}", name(op), pack.in.front()));
    // Backward may have submitted ranges of gradients before this call. Their number must be the same on all workers.
    cluster_->agree(all_reduce_name, "the value to combine is",
                    fmt::format("{} after {} collectives", fmt::join(texts, ", "), collectives_->submitted()));
  }
  group().barrier_on_host(replica, all_reduce_name);
}

std::shared_ptr<GpuCollectives> connect_gpus(const std::vector<LogicalDevice>& gpus, std::chrono::milliseconds timeout,
                                             Cluster* cluster) {
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  require<Unsupported>(blocking == nullptr || std::string_view(blocking) == "0",
                       "with CUDA_LAUNCH_BLOCKING={} replicas of one process wait for each other forever: unset it",
                       blocking == nullptr ? "" : blocking);
  std::set<int> physical;
  std::vector<std::string> names;
  for (const LogicalDevice& device : gpus) {
    physical.insert(physical_gpu(device));
    names.push_back(device.name());
  }
  require<Unsupported>(physical.size() == gpus.size(),
                       "NCCL needs a physical GPU for each replica, but [{}] are on {} physical GPU(s): use other "
                       "devices or shared-memory",
                       fmt::join(names, ", "), physical.size());
  return std::make_shared<GpuCollectives>(gpus, make_gpu_communicators(gpus, timeout, cluster), timeout);
}

}  // namespace lockstep
