#pragma once

#include <lockstep/kernels/cuda/convolution.h>
#include <lockstep/kernels/cuda/cudnn_objects.h>

namespace lockstep::cudnn {

/// What cuDNN's classic functions are told of a convolution. Describing it needs no GPU.
struct ConvolutionDescriptors {
  /// Precondition: the padding is even. Throws DeviceError naming call and convolution when cuDNN refuses it,
  /// Unsupported naming the convolution for a tensor of more elements than an int counts.
  explicit ConvolutionDescriptors(const Convolution& c);

  ///@{
  /// Images are NHWC, as are filters; the bias has one element for each channel of y.
  TensorDescriptor x, y, bias;
  FilterDescriptor kernel;
  ///@}
  ConvolutionDescriptor window;     ///< sums in f32; of f32 without tensor cores
  ActivationDescriptor activation;  ///< behind the bias: none
};

}  // namespace lockstep::cudnn
