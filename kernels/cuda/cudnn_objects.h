#pragma once

#include <memory>
#include <type_traits>

#include <cudnn.h>

#include <lockstep/kernels/cuda/cudnn_handle.h>

// Owning pointers to cuDNN objects.

namespace lockstep::cudnn {

/// Deleter that calls one of cuDNN's destroy functions.
template <auto destroy>
struct Destroy {
  /// Destroys the object.
  template <class T>
  void operator()(T* object) const {
    destroy(object);
  }
};
///@{
/// Owning pointers to cuDNN descriptors.
template <class T, auto destroy>
using Owner = std::unique_ptr<std::remove_pointer_t<T>, Destroy<destroy>>;
using TensorDescriptor = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using RnnDescriptor = Owner<cudnnRNNDescriptor_t, cudnnDestroyRNNDescriptor>;
using DropoutDescriptor = Owner<cudnnDropoutDescriptor_t, cudnnDestroyDropoutDescriptor>;
using SequenceDescriptor = Owner<cudnnRNNDataDescriptor_t, cudnnDestroyRNNDataDescriptor>;
///@}

/// Returns a new object made by `create`. `call` is the name of that cuDNN function for the DeviceError thrown on
/// failure.
template <class Owner, class Create>
Owner made(const Create& create, const char* call) {
  typename Owner::pointer object = nullptr;
  check(create(&object), call);
  return Owner(object);
}

}  // namespace lockstep::cudnn
