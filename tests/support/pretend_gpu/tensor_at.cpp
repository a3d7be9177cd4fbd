#include <map>
#include <mutex>

#include <support/pretend_gpu/tensor_at.h>

#include <lockstep/runtime/memory/memory_pool.h>

namespace lockstep::test {
namespace {

/// Hands out existing memory and never frees it.
class OthersMemory final : public MemoryResource {
 public:
  explicit OthersMemory(void* memory) : memory_(memory) {}
  void* allocate(std::size_t) override { return memory_; }
  void release(void*, std::size_t) noexcept override {}

 private:
  void* memory_;
};

/// Never destroyed, as tensors may exist until the program's end.
OthersMemory& others_memory(void* memory) {
  static std::mutex mutex;
  static auto& all = *new std::map<void*, OthersMemory>;
  const std::lock_guard lock(mutex);
  return all.try_emplace(memory, memory).first->second;
}

/// The shape of a dense tensor of which a tensor of this shape and strides is the first part along each axis.
Shape dense_around(const Shape& shape, const Shape& strides) {
  Shape around = shape;
  std::int64_t inner = 1;  // elements of the inner axes so far
  int last = -1;           // the last of these axes that has a stride
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    around[axis] = 1;
    if (shape[axis] == 1 || strides[axis] == 0) continue;
    require<BrokenInvariant>(last >= 0 ? strides[axis] % inner == 0 : strides[axis] == 1,
                             "no dense tensor of shape {} has the strides {}", shape, strides);
    if (last >= 0) around[last] = strides[axis] / inner;
    inner = strides[axis];
    last = axis;
  }
  if (last >= 0) around[last] = shape[last];
  return around;
}

}  // namespace

Tensor tensor_at(const Tensor& tensor) {
  const auto moves = [&](int axis) { return tensor.shape()[axis] > 1 && tensor.strides()[axis] > 0; };
  for (int axis = 0; axis < tensor.rank(); ++axis)
    for (int before = 0; before < axis; ++before)
      if (moves(before) && moves(axis) && tensor.strides()[before] < tensor.strides()[axis])
        return tensor_at(tensor.transposed_view(before, axis)).transposed_view(before, axis);
  const Shape around = dense_around(tensor.shape(), tensor.strides());
  const MemoryPool pool(tensor.device(), others_memory(tensor.raw_data()));
  const MemoryPoolScope there(pool);
  Tensor view = Tensor::empty(around, tensor.dtype(), tensor.device());
  for (int axis = 0; axis < tensor.rank(); ++axis)
    if (around[axis] > tensor.shape()[axis]) view = view.slice_view(axis, 0, tensor.shape()[axis]);
  return view.shape() == tensor.shape() ? view : view.broadcast_view(tensor.shape());
}

}  // namespace lockstep::test
