#pragma once

#include <memory>

#include <cublasLt.h>

#include <lockstep/kernels/cuda/matrix_product.h>
#include <lockstep/runtime/device/dynamic_library.h>

// cuBLASLt. Linked, it would cost every program's start 150 ms: it is loaded when the first product is computed.

namespace lockstep::cublas {

/// The library's file.
const char* library_name();

/// Its functions, by their names without the prefix.
struct Functions {
  /// Throws Unsupported for a function that the library lacks.
  explicit Functions(const DynamicLibrary& library);

  ///@{
  /// As cublasLt.h declares them.
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtMatmulDescCreate) product_create;
  decltype(&cublasLtMatmulDescDestroy) product_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) product_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmul) multiply;
  ///@}
};

/// Those of the library, which is loaded at first use. Throws Unsupported when it cannot be.
const Functions& functions();
/// Throws DeviceError naming function and device unless `status` is success.
void check(cublasStatus_t status, const char* call);

/// A handle, layout, description or preference of the library's.
template <class T, auto destroy>
struct Destroy {
  /// Gives it back.
  void operator()(T* object) const { (functions().*destroy)(object); }
};
///@{
/// Owners.
template <class T, auto destroy>
using Owner = std::unique_ptr<T, Destroy<T, destroy>>;
using Handle = Owner<cublasLtContext, &Functions::destroy>;
using Product = Owner<cublasLtMatmulDescOpaque_t, &Functions::product_destroy>;
using MatrixLayout = Owner<cublasLtMatrixLayoutOpaque_t, &Functions::layout_destroy>;
using Preference = Owner<cublasLtMatmulPreferenceOpaque_t, &Functions::preference_destroy>;
///@}

/// How a product is computed: with sums in f32, products of f32 without tensor cores, by an algorithm that gives the
/// same bits every time. Of those it is the one that the library's heuristics put first.
class ProductPlan {
 public:
  /// Describes the product; this needs no GPU.
  explicit ProductPlan(const MatrixProduct& product);
  /// Chooses the algorithm for the handle's GPU. Throws Unsupported naming the product when there is none.
  void choose_algorithm(cublasLtHandle_t handle);
  /// The same; false when there is none.
  bool find_algorithm(cublasLtHandle_t handle);

  /// What run() needs beside the operands.
  std::size_t workspace_bytes() const { return algorithm_.workspaceSize; }

  /// Addresses on the GPU, aligned to operand_alignment.
  struct Operands {
    const void* a;           ///< op(A)'s matrix
    const void* b;           ///< op(B)'s matrix
    void* d;                 ///< the result
    void* vector = nullptr;  ///< the epilogue's, if it has one: a bias, which is read, or its gradient
    ///@{
    /// What the product is multiplied by, and what was in d before that is added to it.
    float alpha = 1, beta = 0;
    ///@}
  };
  /// Enqueues the product on the stream. Throws DeviceError.
  void run(cublasLtHandle_t handle, const Operands& operands, void* workspace, cudaStream_t stream);

 private:
  void set_vector(const void* vector);
  cublasStatus_t ask_for_algorithm(cublasLtHandle_t handle);

  MatrixProduct product_;
  Product description_;
  MatrixLayout a_, b_, d_;
  cublasLtMatmulHeuristicResult_t algorithm_{};
};

}  // namespace lockstep::cublas
