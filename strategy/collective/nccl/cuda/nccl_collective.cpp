#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/ranges.h>

#include <lockstep/kernels/backend.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/collective/flat_range.h>
#include <lockstep/strategy/collective/host_collective.h>
#include <lockstep/strategy/collective/nccl/cuda/communicators.h>
#include <lockstep/strategy/collective/nccl/nccl_collective.h>
#include <lockstep/strategy/collective/workers/worker_gather.h>

namespace lockstep {
namespace {

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ncclFloat32;
    case DType::i32:
      return ncclInt32;
    case DType::i64:
      return ncclInt64;
    default:
      fail<BrokenInvariant>("NCCL is given {} values", name(dtype));
  }
}

/// What NCCL adds up, or multiplies; a mean is divided after it.
ncclRedOp_t operation_of(ReduceOp op) { return op == ReduceOp::prod ? ncclProd : ncclSum; }

/// Whether all parts are gathered and combined here: NCCL's largest and smallest are not NaN where a part is.
bool is_gathered(ReduceOp op) { return op == ReduceOp::max || op == ReduceOp::min; }

class NcclCollective final : public HostCollective {
 public:
  NcclCollective(ReplicaGroup& group, const std::vector<LogicalDevice>& gpus, const CollectiveOptions& options)
      : HostCollective(group, options.bytes_per_pack),
        cluster_(options.cluster.get()),
        communicators_(gpus, group.timeout(), cluster_) {
    if (cluster_) gather_.emplace(group, *cluster_);
  }

  bool updates_own_copy() const override { return true; }
  std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) override;
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  /// Enqueues collectives, and returns when all replicas have: nothing that a replica enqueues after them, and nothing
  /// that CUDA does at a first use, may come before another replica's part of them.
  void run(int replica, const char* what, const std::function<void(ncclComm_t, cudaStream_t)>& enqueue) {
    communicators_.run(replica, what, enqueue);
    group().meet_on_host(replica, what);
  }

  /// Of all workers.
  int replicas_in_sync() const { return group().size() * (cluster_ ? cluster_->size() : 1); }
  /// Other workers are about to do the same.
  void agree(int replica, const char* place, const char* what, const std::string& own) {
    if (cluster_ && replica == 0) cluster_->agree(place, what, own);
    if (cluster_) group().meet_on_host(replica, place);
  }

  Cluster* cluster_;  ///< null when all GPUs are in this process
  std::optional<WorkerGather> gather_{};
  NcclCommunicators communicators_;
};

std::vector<Gathered> NcclCollective::all_gather(int replica, std::span<const Tensor> values, int axis) {
  std::vector<Gathered> gathered = HostCollective::all_gather(replica, values, axis);
  if (gather_) gather_->run(replica, axis, gathered);
  return gathered;
}

/// The parts of one replica's packs on their way. bf16 is widened: NCCL would round after each addition.
struct Transfer {
  Tensor in;
  Tensor out;  ///< of all replicas, one after the other, where they are gathered
};

Transfer transfer_of(ReduceOp op, const Tensor& value, int replicas) {
  Transfer transfer{.in = value, .out = {}};
  if (value.dtype() == DType::bf16) {
    transfer.in = Tensor::empty(value.shape());
    current_backend().convert(value, transfer.in);
  }
  const std::int64_t parts = is_gathered(op) ? replicas : 1;
  transfer.out = Tensor::empty({parts, value.elements()}, transfer.in.dtype());
  return transfer;
}

void enqueue(ReduceOp op, const Transfer& transfer, ncclComm_t communicator, cudaStream_t stream) {
  const auto count = static_cast<std::size_t>(transfer.in.elements());
  const ncclDataType_t type = type_of(transfer.in.dtype());
  const void* const from = transfer.in.raw_data();
  void* const to = transfer.out.raw_data();
  if (is_gathered(op))
    check_nccl(ncclAllGather(from, to, count, type, communicator, stream), "ncclAllGather");
  else
    check_nccl(ncclAllReduce(from, to, count, type, operation_of(op), communicator, stream), "ncclAllReduce");
}

/// What NCCL has brought, into `out`: combined, divided or rounded as is left to do.
void finish(ReduceOp op, const Transfer& transfer, int replicas, const Tensor& out) {
  const Tensor result = out.dtype() == transfer.out.dtype() ? out : Tensor::empty(out.shape(), transfer.out.dtype());
  std::vector<Tensor> parts;
  for (std::int64_t part = 0; part < transfer.out.dim(0); ++part)
    parts.push_back(transfer.out.slice_view(0, part, part + 1));
  const ReduceOp left = is_gathered(op) || op == ReduceOp::mean ? op : ReduceOp::sum;
  reduce_range(left, parts, std::span(&result, 1), {0, out.elements()}, replicas);
  if (result.dtype() != out.dtype()) current_backend().convert(result, out);
}

void NcclCollective::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  const auto own = static_cast<std::size_t>(replica);
  std::vector<Transfer> transfers;
  std::string texts;
  for (const PackViews& pack : packs) {
    transfers.push_back(transfer_of(op, pack.in[own], replicas_in_sync()));
    if (cluster_) texts += fmt::format("{}{} of {}", texts.empty() ? "" : ", ", name(op), pack.in[own]);
  }
  agree(replica, "all_reduce", "the value to combine is", texts);
  run(replica, "all_reduce", [&](ncclComm_t communicator, cudaStream_t stream) {
    for (const Transfer& transfer : transfers) enqueue(op, transfer, communicator, stream);
  });
  for (std::size_t i = 0; i < packs.size(); ++i) finish(op, transfers[i], replicas_in_sync(), packs[i].out[own]);
}

void NcclCollective::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                       const UpdateFn& update) {
  const auto own = static_cast<std::size_t>(replica);
  float* const gradients = views.gradients[own];
  {
    const PhaseTimer timer(Phase::reduce);
    group().meet_on_host(replica, "the reduction of gradients");
    agree(replica, "the reduction of gradients", "the number of gradients is",
          fmt::format("{}", ranges.empty() ? 0 : ranges.back().end));
    run(replica, "the reduction of gradients", [&](ncclComm_t communicator, cudaStream_t stream) {
      for (const FlatRange& range : ranges) {
        float* const bucket = gradients + range.begin;
        check_nccl(ncclAllReduce(bucket, bucket, static_cast<std::size_t>(range.end - range.begin), ncclFloat32,
                                 ncclSum, communicator, stream),
                   "ncclAllReduce");
      }
    });
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
  return std::make_unique<NcclCollective>(group, gpus, options);
}

}  // namespace lockstep
