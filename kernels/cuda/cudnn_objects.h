#pragma once

#include <memory>
#include <type_traits>

#include <cudnn.h>

#include <lockstep/kernels/cuda/cudnn_handle.h>

// Owners of cuDNN's objects.

namespace lockstep::cudnn {

/// Calls one of cuDNN's functions that give an object back.
template <auto destroy>
struct Destroy {
  /// Gives it back.
  template <class T>
  void operator()(T* object) const {
    destroy(object);
  }
};
///@{
/// Owners of cuDNN's descriptors.
template <class T, auto destroy>
using Owner = std::unique_ptr<std::remove_pointer_t<T>, Destroy<destroy>>;
using TensorDescriptor = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using RnnDescriptor = Owner<cudnnRNNDescriptor_t, cudnnDestroyRNNDescriptor>;
using DropoutDescriptor = Owner<cudnnDropoutDescriptor_t, cudnnDestroyDropoutDescriptor>;
using SequenceDescriptor = Owner<cudnnRNNDataDescriptor_t, cudnnDestroyRNNDataDescriptor>;
///@}

/// What `create` makes, one of cuDNN's functions that is named `call`. Throws DeviceError.
template <class Owner, class Create>
Owner made(const Create& create, const char* call) {
  typename Owner::pointer object = nullptr;
  check(create(&object), call);
  return Owner(object);
}

}  // namespace lockstep::cudnn
