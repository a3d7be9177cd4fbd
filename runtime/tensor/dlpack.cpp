#include "lockstep/runtime/tensor/dlpack.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <dlpack/dlpack.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/stream.h>

namespace lockstep {
namespace {

constexpr int dlpack_bool = 6;  // kDLBool of DLPack 1, which the headers of earlier versions lack

struct DLPackDType {
  DType dtype;
  int code;
  int bits;
};
constexpr DLPackDType dlpack_dtypes[] = {{DType::f32, kDLFloat, 32}, {DType::bf16, kDLBfloat, 16},
                                         {DType::i32, kDLInt, 32},   {DType::i64, kDLInt, 64},
                                         {DType::u8, kDLUInt, 8},    {DType::boolean, dlpack_bool, 8}};

DType listed_dtype(const DLPackValues& values) {
  const auto* const found = std::ranges::find_if(dlpack_dtypes, [&](const DLPackDType& known) {
    return known.code == values.code && known.bits == values.bits && values.lanes == 1;
  });
  require<Unsupported>(found != std::end(dlpack_dtypes),
                       "tensors are f32, bf16, i32, i64, u8 or bool, got elements of DLPack's type {} with {} bits and "
                       "{} lane(s)",
                       values.code, values.bits, values.lanes);
  return found->dtype;
}

/// The calling thread's device if its memory is that of the DLPack tensor.
LogicalDevice lent_on(const DLPackValues& values) {
  const LogicalDevice& here = current_context().device;
  if (values.device_type == kDLCPU || values.device_type == kDLCUDAHost)
    return here.kind == DeviceKind::cpu ? here : LogicalDevice{};
  require<Unsupported>(values.device_type == kDLCUDA,
                       "tensors are in memory of CPUs or CUDA GPUs, got DLPack's device type {}", values.device_type);
  const LogicalDevice gpu{.kind = DeviceKind::gpu, .index = values.device_id};
  physical_gpu(gpu);  // throws if there is no GPU
  require<Unsupported>(values.device_id >= 0 && values.device_id < gpu_platform().count(),
                       "the memory is of CUDA's GPU {}, but this process has {} GPU(s)", values.device_id,
                       gpu_platform().count());
  return here.kind == DeviceKind::gpu && physical_gpu(here) == values.device_id ? here : gpu;
}

/// Whether elements at different indices are the same one.
bool shares_elements(const Tensor& tensor) {
  for (int axis = 0; axis < tensor.rank(); ++axis)
    if (tensor.strides()[axis] == 0 && tensor.dim(axis) > 1) return true;
  return false;
}

/// Memory of a DLPack tensor.
struct BorrowedMemory {
  LogicalDevice device;
  std::function<void()> release{};

  explicit BorrowedMemory(const LogicalDevice& of) : device(of) {}
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;
  /// Waits for all work of the device. Leaves errors that kernels have reported to the next caller of synchronize.
  void wait() const {
    if (device.kind == DeviceKind::cpu) return;
    Event done(device);
    for (const StreamKind kind : stream_kinds) {
      done.record({device, kind});
      done.synchronize();
    }
  }
  ~BorrowedMemory() {
    if (!release) return;
    try {
      wait();
    } catch (const Error& error) {  // the GPU has failed
      log_warning("waiting for {} before the release of a DLPack tensor failed: {}", device.name(), error.what());
    }
    release();
  }
};

}  // namespace

Tensor tensor_of(const DLPackValues& values, const std::function<void()>& release) try {
  const DType dtype = listed_dtype(values);
  require(values.ndim >= 0 && (values.ndim == 0 || values.shape != nullptr), "the tensor has {} axes but no sizes",
          values.ndim);
  const auto axes = static_cast<std::size_t>(values.ndim);
  const Shape shape(std::span(values.shape, axes));
  const Shape strides = values.strides == nullptr ? shape.dense_strides() : Shape(std::span(values.strides, axes));
  const auto memory = std::make_shared<BorrowedMemory>(lent_on(values));
  const Tensor tensor = Tensor::from_blob(values.data, shape, strides, dtype, memory->device, memory);
  memory->release = release;
  return tensor;
} catch (Error& error) {
  error.add_context("from_dlpack");
  throw;
}

DLPackValues dlpack_values(const Tensor& tensor) {
  require(tensor.defined(), "to_dlpack was given an undefined tensor");
  const LogicalDevice& device = tensor.device();
  synchronize(device);
  tensor.keep_memory();
  const auto* const type = std::ranges::find(dlpack_dtypes, tensor.dtype(), &DLPackDType::dtype);
  const bool on_gpu = device.kind == DeviceKind::gpu;
  return {.data = tensor.elements() > 0 ? tensor.raw_data() : nullptr,
          .device_type = on_gpu ? kDLCUDA : kDLCPU,
          .device_id = on_gpu ? physical_gpu(device) : 0,
          .ndim = tensor.rank(),
          .code = type->code,
          .bits = type->bits,
          .shape = tensor.shape().begin(),
          .strides = tensor.strides().begin(),
          .read_only = shares_elements(tensor)};
}

}  // namespace lockstep
