#include "pretended_cudnn.h"

#include <array>
#include <cmath>

#include <lockstep/runtime/core/bfloat16.h>

namespace lockstep::test {
namespace {

/// Numbers in memory: sizes and strides of four axes.
struct Array {
  cudnnDataType_t type{};
  std::array<int, 4> sizes{};
  std::array<int, 4> strides{};

  explicit Array(cudnnTensorDescriptor_t descriptor) {
    cudnnGetTensor4dDescriptor(descriptor, &type, &sizes[0], &sizes[1], &sizes[2], &sizes[3], &strides[0], &strides[1],
                               &strides[2], &strides[3]);
  }
  explicit Array(cudnnFilterDescriptor_t descriptor) {
    cudnnTensorFormat_t format{};
    cudnnGetFilter4dDescriptor(descriptor, &type, &format, &sizes[0], &sizes[1], &sizes[2], &sizes[3]);
    const auto [count, channels, rows, columns] = sizes;
    if (format == CUDNN_TENSOR_NHWC) strides = {rows * columns * channels, 1, columns * channels, channels};
  }

  std::size_t size() const { return static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]); }
  std::size_t at(int a, int b, int row, int column) const {
    return static_cast<std::size_t>(a * strides[0] + b * strides[1] + row * strides[2] + column * strides[3]);
  }
  double read(const void* memory, std::size_t i) const {
    return type == CUDNN_DATA_FLOAT ? static_cast<const float*>(memory)[i]
                                    : static_cast<float>(static_cast<const bfloat16*>(memory)[i]);
  }
  void write(void* memory, std::size_t i, double value) const {
    if (type == CUDNN_DATA_FLOAT)
      static_cast<float*>(memory)[i] = static_cast<float>(value);
    else
      static_cast<bfloat16*>(memory)[i] = bfloat16(static_cast<float>(value));
  }
};

struct Window {
  int pad_rows, pad_columns, stride_rows, stride_columns, dilation_rows, dilation_columns;
  int groups;

  explicit Window(cudnnConvolutionDescriptor_t descriptor) {
    cudnnConvolutionMode_t mode{};
    cudnnDataType_t type{};
    cudnnGetConvolution2dDescriptor(descriptor, &pad_rows, &pad_columns, &stride_rows, &stride_columns, &dilation_rows,
                                    &dilation_columns, &mode, &type);
    cudnnGetConvolutionGroupCount(descriptor, &groups);
  }
};

/// Calls visit(place in x, in the kernel, in y) for every product.
template <class Visit>
void for_each_product(const Array& x, const Array& kernel, const Array& y, const Window& w, const Visit& visit) {
  for (int n = 0; n < y.sizes[0]; ++n)
    for (int k = 0; k < y.sizes[1]; ++k)
      for (int p = 0; p < y.sizes[2]; ++p)
        for (int q = 0; q < y.sizes[3]; ++q)
          for (int c = 0; c < kernel.sizes[1]; ++c)
            for (int r = 0; r < kernel.sizes[2]; ++r)
              for (int s = 0; s < kernel.sizes[3]; ++s) {
                const int row = p * w.stride_rows - w.pad_rows + r * w.dilation_rows;
                const int column = q * w.stride_columns - w.pad_columns + s * w.dilation_columns;
                if (row < 0 || row >= x.sizes[2] || column < 0 || column >= x.sizes[3]) continue;
                const int channel = k / (kernel.sizes[0] / w.groups) * kernel.sizes[1] + c;
                visit(x.at(n, channel, row, column), kernel.at(k, c, r, s), y.at(n, k, p, q));
              }
}

/// Whether y is what cuDNN says that it has to be.
bool fit(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t kernel, cudnnConvolutionDescriptor_t window,
         const Array& y) {
  std::array<int, 4> sizes{};
  return cudnnGetConvolutionNdForwardOutputDim(window, x, kernel, 4, sizes.data()) == CUDNN_STATUS_SUCCESS &&
         sizes == y.sizes;
}

cudnnStatus_t begin(const char* call, int algorithm, cudnnConvolutionDescriptor_t window) {
  PretendedCudnn& it = pretended_cudnn();
  it.call = call;
  it.algorithm = algorithm;
  cudnnGetConvolutionMathType(window, &it.math);
  return it.status;
}

/// result = alpha * sums + beta * result.
void finish(const Array& array, const std::vector<double>& sums, const void* alpha, const void* beta, void* result) {
  const double scale = *static_cast<const float*>(alpha);
  const double kept = *static_cast<const float*>(beta);
  for (std::size_t i = 0; i < sums.size(); ++i)
    array.write(result, i, scale * sums[i] + (kept == 0 ? 0 : kept * array.read(result, i)));
}

std::vector<double> sums_of_y(const Array& x, const void* x_memory, const Array& kernel, const void* kernel_memory,
                              const Window& window, const Array& y) {
  std::vector<double> sums(y.size());
  for_each_product(x, kernel, y, window, [&](std::size_t at_x, std::size_t at_kernel, std::size_t at_y) {
    sums[at_y] += x.read(x_memory, at_x) * kernel.read(kernel_memory, at_kernel);
  });
  return sums;
}

/// Of a bias with nothing behind it, which is all that the classic functions are asked for.
bool is_identity(cudnnActivationDescriptor_t descriptor) {
  cudnnActivationMode_t mode{};
  cudnnNanPropagation_t nan{};
  double limit = 0;
  cudnnGetActivationDescriptor(descriptor, &mode, &nan, &limit);
  return mode == CUDNN_ACTIVATION_IDENTITY;
}

template <class Answer>
cudnnStatus_t answer(int most, int* count, Answer* answers) {
  const PretendedCudnn& it = pretended_cudnn();
  *count = 0;
  for (const PretendedCudnn::Algorithm& a : it.algorithms) {
    if (*count == most) break;
    answers[(*count)++] = {
        static_cast<decltype(answers->algo)>(a.number), a.status, -1, a.workspace, a.determinism, a.math, {}};
  }
  return it.status;
}

cudnnStatus_t answer_workspace(int algorithm, std::size_t* bytes) {
  const PretendedCudnn& it = pretended_cudnn();
  if (algorithm == it.without_workspace) return CUDNN_STATUS_NOT_SUPPORTED;
  for (const PretendedCudnn::Algorithm& a : it.algorithms)
    if (a.number == algorithm) *bytes = a.workspace;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

PretendedCudnn& pretended_cudnn() {
  static PretendedCudnn it;
  return it;
}

extern "C" {

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int most,
                                                     int* count, cudnnConvolutionFwdAlgoPerf_t* answers) {
  return answer(most, count, answers);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                          cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                          cudnnTensorDescriptor_t, int most, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* answers) {
  return answer(most, count, answers);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                            cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                            cudnnFilterDescriptor_t, int most, int* count,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* answers) {
  return answer(most, count, answers);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                      cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
                                                      cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
  return answer_workspace(algorithm, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                           cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                           cudnnTensorDescriptor_t,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm,
                                                           std::size_t* bytes) {
  return answer_workspace(algorithm, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                             cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                             cudnnFilterDescriptor_t,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                                             std::size_t* bytes) {
  return answer_workspace(algorithm, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t x, const void* x_memory,
                                      cudnnFilterDescriptor_t kernel, const void* kernel_memory,
                                      cudnnConvolutionDescriptor_t window, cudnnConvolutionFwdAlgo_t algorithm, void*,
                                      std::size_t, const void* beta, cudnnTensorDescriptor_t y, void* y_memory) {
  if (const auto status = begin("cudnnConvolutionForward", algorithm, window)) return status;
  const Array result(y);
  if (!fit(x, kernel, window, result)) return CUDNN_STATUS_BAD_PARAM;
  const auto sums = sums_of_y(Array(x), x_memory, Array(kernel), kernel_memory, Window(window), result);
  finish(result, sums, alpha, beta, y_memory);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t x, const void* x_memory, cudnnFilterDescriptor_t kernel,
    const void* kernel_memory, cudnnConvolutionDescriptor_t window, cudnnConvolutionFwdAlgo_t algorithm, void*,
    std::size_t, const void* beta, cudnnTensorDescriptor_t, const void* z, cudnnTensorDescriptor_t bias,
    const void* bias_memory, cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t y, void* y_memory) {
  if (const auto status = begin("cudnnConvolutionBiasActivationForward", algorithm, window)) return status;
  const Array result(y);
  const Array shift(bias);
  if (!fit(x, kernel, window, result) || z != y_memory || shift.sizes != std::array{1, result.sizes[1], 1, 1})
    return CUDNN_STATUS_BAD_PARAM;
  if (!is_identity(activation)) return CUDNN_STATUS_NOT_SUPPORTED;
  auto sums = sums_of_y(Array(x), x_memory, Array(kernel), kernel_memory, Window(window), result);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto channel = static_cast<int>(i % static_cast<std::size_t>(result.sizes[1]));
    sums[i] += shift.read(bias_memory, shift.at(0, channel, 0, 0));
  }
  finish(result, sums, alpha, beta, y_memory);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void* alpha, cudnnFilterDescriptor_t kernel,
                                           const void* kernel_memory, cudnnTensorDescriptor_t dy, const void* dy_memory,
                                           cudnnConvolutionDescriptor_t window, cudnnConvolutionBwdDataAlgo_t algorithm,
                                           void*, std::size_t, const void* beta, cudnnTensorDescriptor_t dx,
                                           void* dx_memory) {
  if (const auto status = begin("cudnnConvolutionBackwardData", algorithm, window)) return status;
  const Array filters(kernel);
  const Array gradient(dy);
  const Array result(dx);
  if (!fit(dx, kernel, window, gradient)) return CUDNN_STATUS_BAD_PARAM;
  std::vector<double> sums(result.size());
  for_each_product(result, filters, gradient, Window(window),
                   [&](std::size_t at_x, std::size_t at_kernel, std::size_t at_y) {
                     sums[at_x] += gradient.read(dy_memory, at_y) * filters.read(kernel_memory, at_kernel);
                   });
  finish(result, sums, alpha, beta, dx_memory);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t x,
                                             const void* x_memory, cudnnTensorDescriptor_t dy, const void* dy_memory,
                                             cudnnConvolutionDescriptor_t window,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void*, std::size_t,
                                             const void* beta, cudnnFilterDescriptor_t dkernel, void* dkernel_memory) {
  if (const auto status = begin("cudnnConvolutionBackwardFilter", algorithm, window)) return status;
  const Array images(x);
  const Array gradient(dy);
  const Array result(dkernel);
  if (!fit(x, dkernel, window, gradient)) return CUDNN_STATUS_BAD_PARAM;
  std::vector<double> sums(result.size());
  for_each_product(images, result, gradient, Window(window),
                   [&](std::size_t at_x, std::size_t at_kernel, std::size_t at_y) {
                     sums[at_kernel] += images.read(x_memory, at_x) * gradient.read(dy_memory, at_y);
                   });
  finish(result, sums, alpha, beta, dkernel_memory);
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"

}  // namespace lockstep::test
