#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <lockstep/runtime/tensor/tensor.h>

// Exchange of tensors with other libraries through DLPack, without copying elements. Programs that call from_dlpack or
// to_dlpack include a header of DLPack: <dlpack/dlpack.h> or the other library's header, such as <ATen/dlpack.h>.

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace lockstep {

/// DLPack's DLManagedTensor, or DLManagedTensorVersioned of version 1.
template <class Managed>
concept DLPackTensor = std::same_as<Managed, DLManagedTensor> || std::same_as<Managed, DLManagedTensorVersioned>;

/// The fields of a DLTensor, independent of the version of DLPack's header.
struct DLPackValues {
  void* data = nullptr;                   ///< address of the first element
  int device_type = 0;                    ///< a DLDeviceType
  int device_id = 0;                      ///< number of the physical device
  int ndim = 0;                           ///< number of axes
  int code = 0;                           ///< a DLDataTypeCode
  int bits = 0;                           ///< bits of an element
  int lanes = 1;                          ///< number of scalars per element; 1 unless it is a vector type
  const std::int64_t* shape = nullptr;    ///< `ndim` sizes
  const std::int64_t* strides = nullptr;  ///< `ndim` strides in elements; null for dense elements
  bool read_only = false;                 ///< several elements share memory, as in broadcast views
};

/// DLPACK_FLAG_BITMASK_READ_ONLY of DLPack 1.
inline constexpr std::uint64_t dlpack_read_only = 1;

/// Implements from_dlpack: a tensor of these values that calls `release` when its last handle is gone. Throws the same
/// errors as from_dlpack, without calling `release`.
Tensor tensor_of(const DLPackValues& values, const std::function<void()>& release);
/// Implements to_dlpack: the values of a tensor. `shape` and `strides` point into `tensor`. The elements stay at their
/// address as long as a handle to the tensor exists. Throws the same errors as to_dlpack.
DLPackValues dlpack_values(const Tensor& tensor);

/// torch::fromDLPack: a tensor that shares the memory of `managed` and calls its deleter once the last handle to the
/// tensor and its views is gone and the GPU has done its work. If this function throws, `managed` still belongs to the
/// caller. The memory must be ready for use: wait for the GPU work that writes it. Throws InvalidArgument for a null
/// pointer, for more than Shape::max_rank axes and for memory that Tensor::from_blob refuses. Throws Unsupported for
/// memory that the other library marks as read-only, for dtypes other than DType's, for devices other than CPUs and
/// CUDA GPUs of this process, and for other versions of DLPack.
template <DLPackTensor Managed>
Tensor from_dlpack(Managed* managed) {
  require(managed != nullptr, "from_dlpack was given a null pointer");
  if constexpr (std::same_as<Managed, DLManagedTensorVersioned>) {
    require<Unsupported>(managed->version.major == 1, "from_dlpack takes tensors of DLPack 1, got version {}.{}",
                         managed->version.major, managed->version.minor);
    require<Unsupported>(
        (managed->flags & dlpack_read_only) == 0,
        "from_dlpack was given a read-only tensor, but lockstep's tensors can be written: give it a copy");
  }
  const auto& from = managed->dl_tensor;
  return tensor_of({.data = from.data == nullptr ? nullptr : static_cast<std::byte*>(from.data) + from.byte_offset,
                    .device_type = static_cast<int>(from.device.device_type),
                    .device_id = static_cast<int>(from.device.device_id),
                    .ndim = static_cast<int>(from.ndim),
                    .code = from.dtype.code,
                    .bits = from.dtype.bits,
                    .lanes = from.dtype.lanes,
                    .shape = from.shape,
                    .strides = from.strides},
                   [managed] {
                     if (managed->deleter) managed->deleter(managed);
                   });
}

/// torch::toDLPack: a DLPack tensor that shares the memory of `tensor`, which may be a view or a variable. Keeps the
/// memory alive until the caller, or the library that gets the result, calls the deleter. Any thread may call it. Waits
/// for the GPU that holds the elements. Tapes and gradients are not passed on. Throws InvalidArgument for an undefined
/// tensor, and DeviceError.
///
/// An optimizer moves its variables to other memory in its first step. Tensors exported before that step, and handles
/// to a variable's value taken before it, keep the old value. Export variables after Optimizer::build. Memory of a GPU
/// may be reused as soon as the deleter has been called: wait for the other library's work first. A broadcast view is
/// marked as read-only in DLManagedTensorVersioned; do not write to it through DLManagedTensor either.
template <DLPackTensor Managed = DLManagedTensor>
Managed* to_dlpack(const Tensor& tensor) {
  struct Exported {
    Tensor tensor;
    Managed managed{};
  };
  auto exported = std::make_unique<Exported>(tensor);
  const DLPackValues values = dlpack_values(exported->tensor);
  auto& to = exported->managed.dl_tensor;
  to.data = values.data;
  to.device.device_type = static_cast<decltype(to.device.device_type)>(values.device_type);
  to.device.device_id = values.device_id;
  to.ndim = values.ndim;
  to.dtype = {static_cast<std::uint8_t>(values.code), static_cast<std::uint8_t>(values.bits),
              static_cast<std::uint16_t>(values.lanes)};
  to.shape = const_cast<std::int64_t*>(values.shape);  // DLPack's pointers are not to const
  to.strides = const_cast<std::int64_t*>(values.strides);
  if constexpr (std::same_as<Managed, DLManagedTensorVersioned>) {
    exported->managed.version.major = 1;
    exported->managed.flags = values.read_only ? dlpack_read_only : 0;
  }
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](Managed* self) { delete static_cast<Exported*>(self->manager_ctx); };
  return &exported.release()->managed;
}

}  // namespace lockstep
