#include "lockstep/kernels/cuda/cublas.h"

#include <fmt/format.h>

#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep::cublas {
namespace {

/// Bytes of scratch memory; NVIDIA recommends this size for Hopper.
constexpr std::uint64_t workspace_limit = std::uint64_t{32} << 20;

cudaDataType data_type(DType dtype) { return dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F; }

template <class T>
void set(const MatrixLayout& layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
  check(functions().layout_set(layout.get(), attribute, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute");
}

/// `batch` matrices, `batch_stride` elements apart.
MatrixLayout layout(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t stride, std::int64_t batch,
                    std::int64_t batch_stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check(functions().layout_create(&made, data_type(dtype), static_cast<std::uint64_t>(rows),
                                  static_cast<std::uint64_t>(columns), stride),
        "cublasLtMatrixLayoutCreate");
  MatrixLayout result(made);
  if (batch > 1) {
    set(result, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    set(result, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride);
  }
  return result;
}

template <class T>
void set(const Product& product, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(functions().product_set(product.get(), attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}

template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  check(functions().preference_set(preference.get(), attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

cublasLtEpilogue_t name_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::relu:
      return CUBLASLT_EPILOGUE_RELU;
    case Epilogue::relu_bias:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case Epilogue::bgrada:
      return CUBLASLT_EPILOGUE_BGRADA;
    default:
      return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

/// Whether the epilogue reads or writes a bias vector.
bool has_vector(Epilogue epilogue) { return epilogue != Epilogue::none && epilogue != Epilogue::relu; }

Product describe(const MatrixProduct& product) {
  cublasLtMatmulDesc_t made = nullptr;
  check(functions().product_create(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
  Product description(made);
  const auto operation = [](bool transpose) -> std::int32_t { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, operation(product.transpose_a));
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, operation(product.transpose_b));
  const std::uint32_t epilogue = name_of(product.epilogue);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  return description;
}

Preference preferences_for(const MatrixProduct& product) {
  cublasLtMatmulPreference_t made = nullptr;
  check(functions().preference_create(&made), "cublasLtMatmulPreferenceCreate");
  Preference result(made);
  set(result, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_limit);
  // Allows split-K only with partial sums in scratch memory that a separate step adds.
  const std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(result, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
  // Tensor cores would round f32 operands first.
  const std::uint64_t without_tensor_cores = ~std::uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK};
  if (product.operands == DType::f32) set(result, CUBLASLT_MATMUL_PREF_IMPL_MASK, without_tensor_cores);
  const auto alignment = static_cast<std::uint32_t>(operand_alignment);
  for (const auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                             CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(result, operand, alignment);
  return result;
}

const char* text(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::bias:
      return " + bias";
    case Epilogue::relu:
      return ", relu";
    case Epilogue::relu_bias:
      return " + bias, relu";
    case Epilogue::bgrada:
      return ", bias' gradient";
    default:
      return "";
  }
}

std::string text(const MatrixProduct& p) {
  return fmt::format("{} matrix product ({}, {}){} x ({}, {}){}{}{}", name(p.operands), p.n, p.k,
                     p.transpose_b ? " transposed" : "", p.k, p.m, p.transpose_a ? " transposed" : "", text(p.epilogue),
                     p.batch == 1 ? "" : fmt::format(", batch of {}", p.batch));
}

}  // namespace

const char* library_name() {
  static const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  return name.c_str();
}

Functions::Functions(const DynamicLibrary& library)
    : status_string(library.function<decltype(cublasLtGetStatusString)>("cublasLtGetStatusString")),
      create(library.function<decltype(cublasLtCreate)>("cublasLtCreate")),
      destroy(library.function<decltype(cublasLtDestroy)>("cublasLtDestroy")),
      product_create(library.function<decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate")),
      product_destroy(library.function<decltype(cublasLtMatmulDescDestroy)>("cublasLtMatmulDescDestroy")),
      product_set(library.function<decltype(cublasLtMatmulDescSetAttribute)>("cublasLtMatmulDescSetAttribute")),
      layout_create(library.function<decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate")),
      layout_destroy(library.function<decltype(cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy")),
      layout_set(library.function<decltype(cublasLtMatrixLayoutSetAttribute)>("cublasLtMatrixLayoutSetAttribute")),
      preference_create(library.function<decltype(cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate")),
      preference_destroy(
          library.function<decltype(cublasLtMatmulPreferenceDestroy)>("cublasLtMatmulPreferenceDestroy")),
      preference_set(
          library.function<decltype(cublasLtMatmulPreferenceSetAttribute)>("cublasLtMatmulPreferenceSetAttribute")),
      heuristic(library.function<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic")),
      multiply(library.function<decltype(cublasLtMatmul)>("cublasLtMatmul")) {}

const Functions& functions() {
  static const Functions loaded(
      DynamicLibrary(library_name(), "install cuBLAS of the CUDA toolkit, or put its folder on LD_LIBRARY_PATH"));
  return loaded;
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  fail<DeviceError>("{} failed on {}: {}", call, current_context().device.name(), functions().status_string(status));
}

ProductPlan::ProductPlan(const MatrixProduct& product)
    : product_(product),
      description_(describe(product)),
      a_(layout(product.operands, product.transpose_a ? product.k : product.m,
                product.transpose_a ? product.m : product.k, product.lda, product.batch, product.batch_a)),
      b_(layout(product.operands, product.transpose_b ? product.n : product.k,
                product.transpose_b ? product.k : product.n, product.ldb, product.batch, product.batch_b)),
      d_(layout(product.result, product.m, product.n, product.ldd, product.batch, product.batch_d)) {}

void ProductPlan::set_vector(const void* vector) { set(description_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector); }

cublasStatus_t ProductPlan::ask_for_algorithm(cublasLtHandle_t handle) {
  // cuBLASLt derives the vector's alignment from its address. The choice must hold for any vector with that alignment.
  if (has_vector(product_.epilogue)) set_vector(reinterpret_cast<const void*>(operand_alignment));
  int found = 0;
  const cublasStatus_t status =
      functions().heuristic(handle, description_.get(), a_.get(), b_.get(), d_.get(), d_.get(),
                            preferences_for(product_).get(), 1, &algorithm_, &found);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  return found == 1 ? algorithm_.state : CUBLAS_STATUS_NOT_SUPPORTED;
}

void ProductPlan::choose_algorithm(cublasLtHandle_t handle) {
  const cublasStatus_t status = ask_for_algorithm(handle);
  require<Unsupported>(status == CUBLAS_STATUS_SUCCESS, "cuBLASLt has no algorithm on {} for the {}: {}",
                       current_context().device.name(), text(product_), functions().status_string(status));
}

bool ProductPlan::find_algorithm(cublasLtHandle_t handle) { return ask_for_algorithm(handle) == CUBLAS_STATUS_SUCCESS; }

void ProductPlan::run(cublasLtHandle_t handle, const Operands& operands, void* workspace, cudaStream_t stream) {
  if (contracts::checked())
    check_operands("cublasLtMatmul",
                   {operand(operands.a, product_.a_elements(), product_.operands),
                    operand(operands.b, product_.b_elements(), product_.operands),
                    operand(operands.d, product_.d_elements(), product_.result),
                    operand(operands.vector, has_vector(product_.epilogue) ? product_.m : 0, product_.result),
                    {workspace, algorithm_.workspaceSize, operand_alignment}});
  if (has_vector(product_.epilogue)) set_vector(operands.vector);
  check(functions().multiply(handle, description_.get(), &operands.alpha, operands.a, a_.get(), operands.b, b_.get(),
                             &operands.beta, operands.d, d_.get(), operands.d, d_.get(), &algorithm_.algo, workspace,
                             algorithm_.workspaceSize, stream),
        "cublasLtMatmul");
}

}  // namespace lockstep::cublas
