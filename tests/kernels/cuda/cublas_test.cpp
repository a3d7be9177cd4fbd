// Calls of cuBLASLt that work without a GPU.

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>

#include <lockstep/kernels/cuda/cublas.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/contracts.h>

namespace lockstep::test {
namespace {

using cublas::Epilogue;
using cublas::MatrixProduct;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Cublas, HasAllFunctions) { EXPECT_NO_THROW((void)cublas::functions()); }

TEST(Cublas, IsOfTheVersionOfTheHeader) {
  const DynamicLibrary library(cublas::library_name(), "");
  EXPECT_EQ(library.function<decltype(cublasLtGetVersion)>("cublasLtGetVersion")() / 10000,
            static_cast<std::size_t>(CUBLAS_VER_MAJOR));
}

TEST(Cublas, NamesAMissingFunction) {
  EXPECT_THAT(error_of<Unsupported>([] { const cublas::Functions functions(DynamicLibrary("libm.so.6", "")); }),
              AllOf(HasSubstr("libm.so.6"), HasSubstr("cublasLt")));
}

/// One product of each kind.
std::vector<MatrixProduct> products(DType dtype) {
  return {cublas::dense_product(32, 240, 10, Epilogue::none, dtype),
          cublas::dense_product(32, 240, 10, Epilogue::bias, dtype),
          cublas::dense_product(32, 240, 10, Epilogue::relu, dtype),
          cublas::dense_product(1, 1, 1, Epilogue::relu_bias, dtype),
          cublas::dense_gradient_x_product(32, 240, 10, dtype),
          cublas::dense_gradient_kernel_product(32, 240, 10, Epilogue::none, dtype),
          cublas::dense_gradient_kernel_product(1, 1, 1, Epilogue::bgrada, dtype),
          cublas::batched_product(6, 32, 10, 240, {32 * 240, 240, 1}, {0, 1, 240}, dtype)};
}

// cuBLASLt refuses attributes of another size than its own.
TEST(Cublas, AcceptsTheDescriptionsOfAllProducts) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const MatrixProduct& product : products(dtype)) EXPECT_NO_THROW(const cublas::ProductPlan plan(product));
}

// The heuristics accept the request, and then fail because there is no GPU.
TEST(Cublas, FindsNoAlgorithmWithoutAGpu) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const MatrixProduct& product : products(dtype)) {
      cublas::ProductPlan plan(product);
      EXPECT_FALSE(plan.find_algorithm(nullptr));
    }
}

TEST(Cublas, NamesTheProductThatHasNoAlgorithm) {
  const auto error = [](const MatrixProduct& product) {
    cublas::ProductPlan plan(product);
    return error_of<Unsupported>([&] { plan.choose_algorithm(nullptr); });
  };
  for (const DType dtype : {DType::f32, DType::bf16})
    EXPECT_THAT(error(cublas::dense_gradient_x_product(32, 240, 10, dtype)),
                HasSubstr(fmt::format(
                    "no algorithm on CPU:0 for the {} matrix product (32, 10) x (10, 240) transposed: ", name(dtype))));
  EXPECT_THAT(error(cublas::dense_product(32, 240, 10, Epilogue::relu_bias, DType::f32)),
              HasSubstr("(32, 240) x (240, 10) + bias, relu: "));
  EXPECT_THAT(error(cublas::dense_gradient_kernel_product(32, 240, 10, Epilogue::bgrada, DType::f32)),
              HasSubstr("(240, 32) transposed x (32, 10), bias' gradient: "));
  EXPECT_THAT(error(cublas::batched_product(6, 32, 10, 240, {32 * 240, 240, 1}, {0, 1, 240}, DType::f32)),
              HasSubstr("(32, 240) x (240, 10) transposed, batch of 6: "));
}

TEST(Cublas, IsGivenNoMemoryThatIsTooSmallOrNotAligned) {
  const LogicalDevice gpu{DeviceKind::gpu, 40};
  const ContextScope there({.device = gpu});
  alignas(64) std::array<float, 3 * 5 + 2 * 5 + 2 * 3> memory{};
  float* const a = memory.data();
  contracts::begin_block(&memory, gpu, a, sizeof memory);
  cublas::ProductPlan plan(cublas::dense_gradient_x_product(2, 3, 5, DType::f32));
  const auto run = [&](std::ptrdiff_t b, std::ptrdiff_t d) {
    plan.run(nullptr, {.a = a, .b = a + b, .d = a + d}, nullptr, nullptr);
  };
  EXPECT_THAT(
      error_of<BrokenInvariant>([&] { run(12, 28); }),
      AllOf(HasSubstr("cublasLtMatmul on GPU:40 is given 24 bytes"), HasSubstr("of which 12 are behind its end")));
  EXPECT_THAT(error_of<BrokenInvariant>([&] { run(13, 24); }), HasSubstr("not aligned to 16"));
  contracts::end_block(&memory, a);
}
TEST(Cublas, NamesTheFunctionThatFailed) {
  EXPECT_THAT(error_of<DeviceError>([] { cublas::check(CUBLAS_STATUS_INVALID_VALUE, "cublasLtMatmul"); }),
              AllOf(HasSubstr("cublasLtMatmul failed on CPU:0"), HasSubstr("unsupported value")));
}

}  // namespace
}  // namespace lockstep::test
