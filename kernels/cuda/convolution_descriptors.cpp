#include "lockstep/kernels/cuda/convolution_descriptors.h"

#include <algorithm>
#include <limits>

namespace lockstep::cudnn {
namespace {

int narrow(std::int64_t size) { return static_cast<int>(size); }

cudnnDataType_t type_of(DType dtype) { return dtype == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT; }

void check_sizes(const Convolution& c) {
  const std::int64_t most = std::max({c.x().elements(), c.kernel().elements(), c.y().elements()});
  require<Unsupported>(
      most <= std::numeric_limits<int>::max(),
      "cuDNN's classic functions cannot run the {}: {} elements of one tensor; cudnn-frontend is needed", c.text(),
      most);
}

TensorDescriptor tensor_of(const Convolution& c, const Layout& layout) {
  auto result = made<TensorDescriptor>(cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor");
  const auto& [sizes, strides] = layout;
  check(cudnnSetTensor4dDescriptorEx(result.get(), type_of(c.dtype), narrow(sizes[0]), narrow(sizes[1]),
                                     narrow(sizes[2]), narrow(sizes[3]), narrow(strides[0]), narrow(strides[1]),
                                     narrow(strides[2]), narrow(strides[3])),
        "cudnnSetTensor4dDescriptorEx", c.text());
  return result;
}

FilterDescriptor filters_of(const Convolution& c) {
  auto result = made<FilterDescriptor>(cudnnCreateFilterDescriptor, "cudnnCreateFilterDescriptor");
  const auto [count, channels, rows, columns] = c.kernel().sizes;
  check(cudnnSetFilter4dDescriptor(result.get(), type_of(c.dtype), CUDNN_TENSOR_NHWC, narrow(count), narrow(channels),
                                   narrow(rows), narrow(columns)),
        "cudnnSetFilter4dDescriptor", c.text());
  return result;
}

ConvolutionDescriptor window_of(const Convolution& c) {
  auto result = made<ConvolutionDescriptor>(cudnnCreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor");
  check(cudnnSetConvolution2dDescriptor(result.get(), narrow(c.pads_before[0]), narrow(c.pads_before[1]),
                                        narrow(c.strides[0]), narrow(c.strides[1]), narrow(c.dilation[0]),
                                        narrow(c.dilation[1]), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "cudnnSetConvolution2dDescriptor", c.text());
  check(cudnnSetConvolutionGroupCount(result.get(), narrow(c.groups)), "cudnnSetConvolutionGroupCount", c.text());
  const cudnnMathType_t math = c.dtype == DType::f32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
  check(cudnnSetConvolutionMathType(result.get(), math), "cudnnSetConvolutionMathType", c.text());
  return result;
}

/// No relu: in a convolution's pass cuDNN has only the one that makes 0 of NaN.
ActivationDescriptor activation_of(const Convolution& c) {
  auto result = made<ActivationDescriptor>(cudnnCreateActivationDescriptor, "cudnnCreateActivationDescriptor");
  check(cudnnSetActivationDescriptor(result.get(), CUDNN_ACTIVATION_IDENTITY, CUDNN_NOT_PROPAGATE_NAN, 0),
        "cudnnSetActivationDescriptor", c.text());
  return result;
}

}  // namespace

ConvolutionDescriptors::ConvolutionDescriptors(const Convolution& c)
    : x((check_sizes(c), tensor_of(c, c.x()))),
      y(tensor_of(c, c.y())),
      bias(tensor_of(c, c.bias_layout())),
      kernel(filters_of(c)),
      window(window_of(c)),
      activation(activation_of(c)) {}

}  // namespace lockstep::cudnn
