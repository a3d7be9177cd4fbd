// Checks f32 products and convolutions in TensorFloat-32, which the library does not use: for which values they are
// exact, and how far they differ from f32.

#include <lockstep/kernels/cuda/cublas.h>
#include <lockstep/kernels/cuda/cudnn_objects.h>

#include "array.h"
#include "check.h"

namespace lockstep::smoke {
namespace {

using cudnn::TensorDescriptor;
using FilterDescriptor = cudnn::Owner<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor = cudnn::Owner<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;

constexpr int rows = 64;     ///< of x; for convolutions, number of images of one pixel each
constexpr int inner = 256;   ///< products in each sum; for convolutions, channels
constexpr int columns = 96;  ///< for convolutions, filters

/// x (rows, inner) and a kernel (columns, inner), which is multiplied with it.
struct Operands {
  std::vector<float> x, kernel;
};

std::vector<double> expected(const Operands& operands) {
  std::vector<double> y;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < inner; ++i)
        sum +=
            static_cast<double>(operands.x[row * inner + i]) * static_cast<double>(operands.kernel[column * inner + i]);
      y.push_back(sum);
    }
  return y;
}

/// Computes `y` (rows, columns) in one of the two ways.
using Compute = std::function<void(const Array<float>& x, const Array<float>& kernel, const Array<float>& y)>;

std::string see(const Compute& compute) {
  const auto run = [&](const Operands& operands, double tolerance) {
    const Array<float> x(operands.x);
    const Array<float> kernel(operands.kernel);
    const Array<float> y(std::vector<float>(static_cast<std::size_t>(rows) * columns, -1));
    compute(x, kernel, y);
    return compared(as_double(y.values()), expected(operands), tolerance);
  };
  const std::string coarse = run({eighths<float>(rows * inner, 1), eighths<float>(columns * inner, 2)}, 1e-6);
  return fmt::format("11 bits: {}; 24 bits: {}", coarse,
                     run({fine_values(rows * inner, 1), fine_values(columns * inner, 2)}, 2e-2));
}

/// In column-major order: y^T = kernel x^T.
void multiply(const Array<float>& x, const Array<float>& kernel, const Array<float>& y) {
  const cublas::Functions& lt = cublas::functions();
  cublasLtHandle_t handle = nullptr;
  cublas::check(lt.create(&handle), "cublasLtCreate");
  cublasLtMatmulDesc_t product = nullptr;
  cublas::check(lt.product_create(&product, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F), "cublasLtMatmulDescCreate");
  const std::int32_t transposed = CUBLAS_OP_T;
  cublas::check(lt.product_set(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
                "cublasLtMatmulDescSetAttribute");
  const auto layout = [&](std::uint64_t height, std::uint64_t width) {
    cublasLtMatrixLayout_t made = nullptr;
    cublas::check(lt.layout_create(&made, CUDA_R_32F, height, width, static_cast<std::int64_t>(height)),
                  "cublasLtMatrixLayoutCreate");
    return cublas::MatrixLayout(made);
  };
  const auto a = layout(inner, columns);
  const auto b = layout(inner, rows);
  const auto d = layout(columns, rows);
  const float one = 1;
  const float zero = 0;
  cublas::check(lt.multiply(handle, product, &one, kernel.get(), a.get(), x.get(), b.get(), &zero, y.get(), d.get(),
                            y.get(), d.get(), nullptr, nullptr, 0, nullptr),
                "cublasLtMatmul");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  cublas::check(lt.product_destroy(product), "cublasLtMatmulDescDestroy");
  cublas::check(lt.destroy(handle), "cublasLtDestroy");
}

/// As a convolution with a window of one pixel, with cuDNN's classic functions.
void convolve(const Array<float>& x, const Array<float>& kernel, const Array<float>& y) {
  cudnnHandle_t handle = nullptr;
  cudnn::check(cudnnCreate(&handle), "cudnnCreate");
  const auto images = [](int channels) {
    auto made = cudnn::made<TensorDescriptor>(cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor");
    cudnn::check(cudnnSetTensor4dDescriptor(made.get(), CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, rows, channels, 1, 1),
                 "cudnnSetTensor4dDescriptor");
    return made;
  };
  const auto in = images(inner);
  const auto out = images(columns);
  const auto filters = cudnn::made<FilterDescriptor>(cudnnCreateFilterDescriptor, "cudnnCreateFilterDescriptor");
  cudnn::check(cudnnSetFilter4dDescriptor(filters.get(), CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, columns, inner, 1, 1),
               "cudnnSetFilter4dDescriptor");
  const auto window =
      cudnn::made<ConvolutionDescriptor>(cudnnCreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor");
  cudnn::check(
      cudnnSetConvolution2dDescriptor(window.get(), 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
      "cudnnSetConvolution2dDescriptor");
  cudnn::check(cudnnSetConvolutionMathType(window.get(), CUDNN_TENSOR_OP_MATH), "cudnnSetConvolutionMathType");
  constexpr auto algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  std::size_t bytes = 0;
  cudnn::check(cudnnGetConvolutionForwardWorkspaceSize(handle, in.get(), filters.get(), window.get(), out.get(),
                                                       algorithm, &bytes),
               "cudnnGetConvolutionForwardWorkspaceSize");
  const Array<unsigned char> workspace(std::vector<unsigned char>(bytes + 1, 0));
  const float one = 1;
  const float zero = 0;
  cudnn::check(cudnnConvolutionForward(handle, &one, in.get(), x.get(), filters.get(), kernel.get(), window.get(),
                                       algorithm, workspace.get(), bytes, &zero, out.get(), y.get()),
               "cudnnConvolutionForward");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  cudnn::check(cudnnDestroy(handle), "cudnnDestroy");
}

}  // namespace

std::vector<Check> tensor_float_checks() {
  return {{"cublas_product_tf32", [] { return see(multiply); }},
          {"cudnn_convolution_tf32", [] { return see(convolve); }}};
}

}  // namespace lockstep::smoke
