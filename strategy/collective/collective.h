#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/runtime/cluster/cluster.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/collective/cross_device_ops.h>
#include <lockstep/strategy/collective/replica_group.h>

namespace lockstep {

/// Flat f32 memory of all replicas, in replica order, as the reducer lays it out.
struct FlatViews {
  std::span<float* const> gradients;   ///< one for each replica
  std::span<float* const> parameters;  ///< one for each copy of the variables
  std::span<float* const> state;       ///< the optimizer's slots, held once, or this replica's own
  Tensor own{};                        ///< this replica's gradients, for ways that exchange copies of them
};

/// Elements [begin, end) of the flat memory.
struct FlatRange {
  std::int64_t begin = 0;  ///< in elements
  std::int64_t end = 0;    ///< in elements
};

/// An optimizer's step on one range.
using UpdateFn = std::function<void(const UpdateViews&)>;

/// What a replica gets from all_gather.
struct Gathered {
  Tensor value;             ///< all replicas' parts, joined
  std::int64_t offset = 0;  ///< where the replica's own part begins, along the axis
};

/// How replicas combine their values. Every replica calls the same functions in the same order, from its own thread;
/// each has to be reached by all. Every replica gets the same bits; each way says in which order it adds. Where the
/// replicas' arguments do not fit together, all of them get the same InvalidArgument, which names what each one
/// brought, before anything is combined, and the collective stays usable.
class Collective {
 public:
  virtual ~Collective() = default;

  /// Each tensor combined with those of its place on the other replicas: dense, in new memory (results of one call may
  /// share it). f32, bf16 (added in f32, rounded once), i32 and i64; integers have no mean. Throws InvalidArgument when
  /// number, ops, shapes or dtypes differ.
  virtual std::vector<Tensor> all_reduce(int replica, ReduceOp op, std::span<const Tensor> values) = 0;
  /// Of one tensor.
  Tensor all_reduce(int replica, ReduceOp op, const Tensor& value) {
    return all_reduce(replica, op, std::span(&value, 1)).front();
  }

  /// The replicas' tensors of any dtype joined along `axis`, in replica order; a negative axis counts from the end.
  /// Throws InvalidArgument for scalars, and when number, axes, dtypes, ranks or the sizes along other axes differ.
  virtual std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) = 0;
  /// Of one tensor.
  Gathered all_gather(int replica, const Tensor& value, int axis) {
    return all_gather(replica, std::span(&value, 1), axis).front();
  }

  /// Whether reduce_and_update gives each replica its own copy of the parameters to update, as a whole and with state
  /// of its own, rather than a share of all copies: where replicas cannot reach each other's memory.
  virtual bool updates_own_copy() const { return false; }
  /// Whether gradients_final begins something.
  virtual bool exchanges_beside_backward() const { return false; }
  /// `replica`'s gradients of range number `range`, of those that reduce_and_update is about to be given, are final:
  /// the exchange of that range may begin beside backward. Replicas come with all ranges in some order, or with none.
  virtual void gradients_final(int /*replica*/, const FlatViews& /*views*/, std::span<const FlatRange> /*ranges*/,
                               std::size_t /*range*/) {}
  /// For runs inside merges of this one's runs, whose replicas synchronize in `group`: a collective that uses this
  /// one's connections, which it does not outlive, while no replica of this one's group calls anything. Null: it has
  /// none.
  virtual std::unique_ptr<Collective> for_inner_runs(ReplicaGroup& /*group*/) { return nullptr; }
  /// A step has failed on this process, all of whose replicas have ended.
  virtual void abandon_step() {}
  /// Sums the gradients of each range over the replicas and applies `update` to every copy of the parameters.
  /// Afterwards the gradients hold anything. Allocates nothing after the first call with ranges of these sizes.
  virtual void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                 const UpdateFn& update) = 0;
};

/// What make_collective makes.
struct CollectiveOptions {
  CrossDeviceOps cross_device_ops = CrossDeviceOps::automatic;  ///< the way of combining
  /// Tensors that are combined in one call are copied together up to about this size, by dtype; 0: all into one.
  std::int64_t bytes_per_pack = 0;
  /// What gradients are rounded to before they are exchanged, f32 or bf16, which only nccl does: half the bytes, at
  /// the price of a rounding of each replica's gradient and of each sum on the way. All replicas get the same bits.
  DType wire_dtype = DType::f32;
  std::shared_ptr<Cluster> cluster{};  ///< whose workers have the other replicas; null when there are none
};

/// The collective for replicas on these devices. `automatic` is nccl for several GPUs that are each on a physical GPU
/// of its own, else shared_memory. Throws Unsupported when devices or build have none of that kind or no such
/// wire_dtype, InvalidArgument for a negative size. Where there are other workers there is one way: nccl on GPUs, the
/// workers' exchange on CPUs.
std::unique_ptr<Collective> make_collective(ReplicaGroup& group, const std::vector<LogicalDevice>& devices,
                                            const CollectiveOptions& options = {});

}  // namespace lockstep
