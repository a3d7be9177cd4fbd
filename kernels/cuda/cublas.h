#pragma once

#include <memory>

#include <cublasLt.h>

#include <lockstep/kernels/cuda/matrix_product.h>
#include <lockstep/runtime/device/dynamic_library.h>

// cuBLASLt, loaded when the first product is computed, because linking it would delay every program's start by 150 ms.

namespace lockstep::cublas {

/// File name of the cuBLASLt library.
const char* library_name();

/// The library's functions, under short names.
struct Functions {
  /// Throws Unsupported when the library lacks one of the functions.
  explicit Functions(const DynamicLibrary& library);

  ///@{
  /// Functions as declared in cublasLt.h.
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtMatmulDescCreate) product_create;
  decltype(&cublasLtMatmulDescDestroy) product_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) product_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmul) multiply;
  ///@}
};

/// The functions of the library, loaded at first use. Throws Unsupported when the library cannot be loaded or lacks one
/// of the functions.
const Functions& functions();
/// Throws DeviceError unless `status` is success. The error names the function `call`, the calling thread's device and
/// the status.
void check(cublasStatus_t status, const char* call);

/// Deleter of the library's handles, layouts, descriptors and preferences.
template <class T, auto destroy>
struct Destroy {
  /// Calls the destroy function.
  void operator()(T* object) const { (functions().*destroy)(object); }
};
///@{
/// Owning pointers.
template <class T, auto destroy>
using Owner = std::unique_ptr<T, Destroy<T, destroy>>;
using Handle = Owner<cublasLtContext, &Functions::destroy>;
using Product = Owner<cublasLtMatmulDescOpaque_t, &Functions::product_destroy>;
using MatrixLayout = Owner<cublasLtMatrixLayoutOpaque_t, &Functions::layout_destroy>;
using Preference = Owner<cublasLtMatmulPreferenceOpaque_t, &Functions::preference_destroy>;
///@}

/// A matrix product and the cuBLASLt algorithm that computes it: the heuristics' first choice among the algorithms that
/// are deterministic, accumulate in f32 and, for f32 operands, do not use tensor cores.
class ProductPlan {
 public:
  /// Describes the product; does not need a GPU.
  explicit ProductPlan(const MatrixProduct& product);
  /// Chooses the algorithm for the handle's GPU. Throws Unsupported naming the product when there is no such
  /// algorithm.
  void choose_algorithm(cublasLtHandle_t handle);
  /// Like choose_algorithm, but returns false if there is no such algorithm.
  bool find_algorithm(cublasLtHandle_t handle);

  /// Scratch memory that run() needs, in bytes.
  std::size_t workspace_bytes() const { return algorithm_.workspaceSize; }

  /// Addresses on the GPU, aligned to operand_alignment.
  struct Operands {
    const void* a;           ///< matrix A
    const void* b;           ///< matrix B
    void* d;                 ///< the result
    void* vector = nullptr;  ///< bias that the epilogue reads or bias gradient that it writes; null if neither
    ///@{
    /// d = epilogue(alpha * product + beta * d).
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
