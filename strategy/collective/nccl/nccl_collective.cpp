#include "lockstep/strategy/collective/nccl/nccl_collective.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/collective/flat_range.h>
#include <lockstep/strategy/collective/host_collective.h>
#include <lockstep/strategy/collective/nccl/bucket_exchange.h>
#include <lockstep/strategy/collective/nccl/gpu_communicators.h>
#include <lockstep/strategy/collective/nccl/gradient_wire.h>
#include <lockstep/strategy/collective/places.h>
#include <lockstep/strategy/collective/workers/worker_gather.h>

namespace lockstep {
namespace {

/// What NCCL is asked for. All parts are gathered and combined here for the largest and the smallest, which are not NaN
/// where a part is in NCCL's own. NCCL's mean divides before it adds: it has the bits of a sum that is divided, as a
/// mean is defined, where division by the number of replicas is exact.
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
  fail<BrokenInvariant>("reduction {} is none of the known ones", static_cast<int>(op));
}

class NcclCollective final : public HostCollective {
 public:
  NcclCollective(ReplicaGroup& group, const std::vector<LogicalDevice>& gpus, const CollectiveOptions& options,
                 std::shared_ptr<GpuCommunicators> communicators)
      : HostCollective(group, options.bytes_per_pack),
        options_(options),
        gpus_(gpus),
        cluster_(options.cluster.get()),
        communicators_(std::move(communicators)),
        wire_(gpus, options.wire_dtype),
        exchange_(gpus, *communicators_) {
    if (cluster_) gather_.emplace(group, *cluster_);
  }

  bool updates_own_copy() const override { return true; }
  bool exchanges_beside_backward() const override { return true; }
  std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) override;
  void gradients_final(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                       std::size_t range) override;
  /// NCCL's kernels of two communicators on one GPU may come in another order than on the next GPU, and wait for each
  /// other.
  std::unique_ptr<Collective> for_inner_runs(ReplicaGroup& group) override {
    return std::make_unique<NcclCollective>(group, gpus_, options_, communicators_);
  }
  void abandon_step() override;
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  void sum_gradients(int replica, const FlatViews& views, std::span<const FlatRange> ranges);
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  void enqueue(int replica, const char* what, std::span<const GpuPart> parts) {
    if constexpr (contracts::checked)
      for (const GpuPart& part : parts)
        check_part(what, Stream{gpus_[static_cast<std::size_t>(replica)]}, part, replicas_in_sync());
    communicators_->enqueue(replica, what, parts);
  }
  /// Enqueues collectives, and returns when all replicas have: nothing that a replica enqueues after them, and nothing
  /// that CUDA does at a first use, may come before another replica's part of them.
  void run(int replica, const char* what, std::span<const GpuPart> parts) {
    enqueue(replica, what, parts);
    group().meet_on_host(replica, what);
  }

  /// Of all workers.
  int replicas_in_sync() const { return group().size() * (cluster_ ? cluster_->size() : 1); }
  /// Other workers are about to do the same.
  void agree(int replica, const char* place, const char* what, const std::string& own) {
    if (cluster_ && replica == 0) cluster_->agree(place, what, own);
    if (cluster_) group().meet_on_host(replica, place);
  }

  CollectiveOptions options_;
  std::vector<LogicalDevice> gpus_;
  Cluster* cluster_;  ///< null when all GPUs are in this process
  std::optional<WorkerGather> gather_{};
  std::shared_ptr<GpuCommunicators> communicators_;
  GradientWire wire_;
  BucketExchange exchange_;
  std::atomic<bool> connected_ = false;  ///< NCCL has summed gradients before; set while all replicas are in a step
};

std::vector<Gathered> NcclCollective::all_gather(int replica, std::span<const Tensor> values, int axis) {
  std::vector<Gathered> gathered = HostCollective::all_gather(replica, values, axis);
  if (gather_) gather_->run(replica, axis, gathered);
  return gathered;
}

/// One replica's part of a pack on its way. bf16 is widened: NCCL would round after each addition.
struct Transfer {
  GpuPart::Kind kind;
  Tensor in;
  Tensor
      out;  ///< the pack's result itself where it is of in's dtype; of all replicas, one after the other, if gathered
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

/// What NCCL has brought, into `result`: combined, divided or rounded as is left to do.
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

void NcclCollective::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  const auto own = static_cast<std::size_t>(replica);
  std::vector<Transfer> transfers;
  std::vector<GpuPart> parts;
  std::string texts;
  for (const PackViews& pack : packs) {
    transfers.push_back(transfer_of(op, pack.in[own], replicas_in_sync(), pack.out[own]));
    parts.push_back(part_of(transfers.back()));
    if (cluster_) texts += fmt::format("{}{} of {}", texts.empty() ? "" : ", ", name(op), pack.in[own]);
  }
  // In backward, gradients may have been exchanged before it: that has to be so on all workers.
  if (const std::size_t ranges = exchange_.enqueued(); cluster_ && ranges > 0)
    texts += fmt::format(" after {} range(s) of gradients", ranges);
  agree(replica, reduce_place, "the value to combine is", texts);
  run(replica, reduce_place, parts);
  for (std::size_t i = 0; i < packs.size(); ++i) finish(op, transfers[i], replicas_in_sync(), packs[i].out[own]);
}

void NcclCollective::gradients_final(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                     std::size_t range) {
  if (connected_) exchange_.add(replica, wire_.part_of(replica, views, ranges, range), range, ranges.size());
}

void NcclCollective::abandon_step() {
  if (cluster_ && exchange_.begun()) cluster_->fail_all("a step failed while its gradients were on their way");
  exchange_.abandon();
  communicators_->abandon_step();
}

void NcclCollective::sum_gradients(int replica, const FlatViews& views, std::span<const FlatRange> ranges) {
  for (std::size_t range = 0; range < ranges.size(); ++range) {
    // One by one, as beside backward: NCCL chooses its algorithm by the size of all that it is given in one go.
    const GpuPart part = wire_.part_of(replica, views, ranges, range);
    enqueue(replica, gradients_place, std::span(&part, 1));
  }
  group().meet_on_host(replica, gradients_place);
  if (replica == 0) connected_ = true;  // before the step's end, where all replicas meet
}

void NcclCollective::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                       const UpdateFn& update) {
  const auto own = static_cast<std::size_t>(replica);
  {
    const PhaseTimer timer(Phase::reduce);
    group().meet_on_host(replica, gradients_place);
    agree(replica, gradients_place, "the number of gradients is",
          fmt::format("{} as {}", ranges.empty() ? 0 : ranges.back().end, name(wire_.dtype())));
    if (!exchange_.join(replica)) sum_gradients(replica, views, ranges);
    wire_.finish(replica, views, ranges);
  }
  {
    const PhaseTimer timer(Phase::update);
    const FlatViews mine{views.gradients.subspan(own, 1), views.parameters.subspan(own, 1), views.state};
    for (const FlatRange& range : ranges) update_range(update, mine, range);
  }
  const PhaseTimer timer(Phase::reduce);
  group().meet_on_host(replica, "the end of the update");
}

}  // namespace

std::unique_ptr<Collective> make_nccl_collective(ReplicaGroup& group, const std::vector<LogicalDevice>& gpus,
                                                 const CollectiveOptions& options) {
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
                       "NCCL takes one replica on each physical GPU, and [{}] are on {}: use shared-memory",
                       fmt::join(names, ", "), physical.size());
  return std::make_unique<NcclCollective>(group, gpus, options,
                                          make_gpu_communicators(gpus, group.timeout(), options.cluster.get()));
}

}  // namespace lockstep
