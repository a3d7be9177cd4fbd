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

/// Combines values of replicas. Every replica must call the same functions in the same order, on its own thread; a call
/// returns after all replicas have made it. Every replica gets the same bits; each implementation documents the order
/// of its additions. If the replicas' arguments are inconsistent, all replicas get the same InvalidArgument before
/// anything is combined; the communicator stays usable.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Combines each tensor with the tensors at the same position on the other replicas. Results are dense and in new
  /// memory; the results of one call may be views of the same memory. Supports f32, bf16 (added in f32, rounded once),
  /// i32 and i64; integers have no mean. Throws InvalidArgument when the replicas' numbers of tensors, ops, shapes or
  /// dtypes differ.
  virtual std::vector<Tensor> all_reduce(int replica, ReduceOp op, std::span<const Tensor> values) = 0;
  /// Same as above, for one tensor.
  Tensor all_reduce(int replica, ReduceOp op, const Tensor& value) {
    return all_reduce(replica, op, std::span(&value, 1)).front();
  }

  /// Joins the replicas' tensors along `axis` (negative: from the end), in replica order. Supports any dtype. Throws
  /// InvalidArgument for scalars, and when the replicas' numbers of tensors, axes, dtypes, ranks or sizes of the other
  /// axes differ.
  virtual std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) = 0;
  /// Same as above, for one tensor.
  Gathered all_gather(int replica, const Tensor& value, int axis) {
    return all_gather(replica, std::span(&value, 1), axis).front();
  }
};

}  // namespace lockstep
