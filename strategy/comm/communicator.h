#pragma once

#include <span>
#include <vector>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A replica's result of all_gather.
struct Gathered {
  Tensor value;             ///< all replicas' parts, joined
  std::int64_t offset = 0;  ///< start of the replica's own part, along the axis
};

/// Combines values of replicas. Every replica calls the same functions in the same order, from its own thread; each
/// call returns after all replicas have made it. Every replica gets the same bits; each implementation documents its
/// order of additions. Where the replicas' arguments are inconsistent, all of them get the same InvalidArgument,
/// which names the arguments of each, before anything is combined, and the communicator stays usable.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Each tensor combined with those of its position on the other replicas: dense, in new memory (results of one call
  /// may share it). f32, bf16 (added in f32, rounded once), i32 and i64; integers have no mean. Throws InvalidArgument
  /// when number, ops, shapes or dtypes differ.
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
};

}  // namespace lockstep
